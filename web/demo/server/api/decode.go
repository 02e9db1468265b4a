package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// decode reads one JSON object into target, a pointer to a struct. The error
// says what the sender should change, and names a field that target lacks.
func decode(body []byte, target any) error {
	body = bytes.TrimSpace(body)
	if !bytes.HasPrefix(body, []byte("{")) {
		return errors.New("the body must be a JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		var mistyped *json.UnmarshalTypeError
		if errors.As(err, &mistyped) {
			return fmt.Errorf("field %q must be a %s, not a %s", mistyped.Field, mistyped.Type, mistyped.Value)
		}
		if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return fmt.Errorf("unknown field %s; leave it out", field)
		}
		return fmt.Errorf("the body must be a JSON object: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body must be one JSON object and nothing after it")
	}
	return nil
}
