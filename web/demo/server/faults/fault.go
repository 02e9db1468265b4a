package faults

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Mode is what happens to a request that meets a fault.
type Mode string

// The modes.
const (
	// None is the mode of no fault: the request is handled.
	None Mode = ""
	// Fail answers with the fault's status and applies nothing.
	Fail Mode = "fail"
	// Drop closes the connection without an answer and applies nothing.
	Drop Mode = "drop"
	// Hold waits until the faults are cleared and then handles the request; a
	// client that goes away meanwhile has applied nothing.
	Hold Mode = "hold"
	// ApplyAndDrop handles the request and closes the connection without an
	// answer.
	ApplyAndDrop Mode = "apply-and-drop"
)

// Fault says which requests meet it and what then happens to them.
type Fault struct {
	Method string `json:"method"` // "" is any
	Path   string `json:"path"`   // a part of the URL's path; "" is any
	Mode   Mode   `json:"mode"`
	Status int    `json:"status"` // for Fail, else unused; 0 becomes 503
	Times  int    `json:"times"`  // 0 is until cleared
}

func (f Fault) matches(method, path string) bool {
	return (f.Method == "" || strings.EqualFold(f.Method, method)) && strings.Contains(path, f.Path)
}

// checked returns f with its defaults, or an error that says what to change.
func (f Fault) checked() (Fault, error) {
	switch f.Mode {
	case Drop, Hold, ApplyAndDrop:
	case Fail:
		if f.Status == 0 {
			f.Status = http.StatusServiceUnavailable
		}
		if f.Status < 400 || f.Status > 599 {
			return f, fmt.Errorf("status must be from 400 to 599, not %d", f.Status)
		}
	default:
		return f, fmt.Errorf("mode must be %q, %q, %q or %q, not %q", Fail, Drop, Hold, ApplyAndDrop, f.Mode)
	}
	if f.Times < 0 {
		return f, errors.New("times must not be negative; 0 means until cleared")
	}
	return f, nil
}
