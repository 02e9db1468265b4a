package outbox

import "errors"

// Code says what went wrong. The list is closed; TypeScript has the same one.
type Code string

// The codes of an Error.
const (
	CodeFailed      Code = "failed"       // the Backend refused the write
	CodeDiscarded   Code = "discarded"    // the Entry was discarded
	CodeReset       Code = "reset"        // the Std Sync was reset
	CodeDisposed    Code = "disposed"     // this tab's part was stopped
	CodeSuperseded  Code = "superseded"   // a newer version of the app took over
	CodeStorage     Code = "storage"      // the Store could not be read or written
	CodeNotStorable Code = "not-storable" // a value cannot be stored
	CodeInvalid     Code = "invalid"      // an argument or option is wrong
	CodeInRequest   Code = "in-request"   // the Entry is being flown
	CodeUnsent      Code = "unsent"       // a reset was refused: Entries wait
	CodeCrashed     Code = "crashed"      // the module died
)

// Error is the only error this package returns to its callers, contexts'
// errors aside.
type Error struct {
	Code    Code
	Message string
	// EntryID is the Entry concerned, or "".
	EntryID string
	// Failure is the stored reason of a failed Entry, or nil.
	Failure *Failure
	// Err is the cause, or nil.
	Err error
}

// Error returns the message with its cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an Error of the same Code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.EntryID == "" || t.EntryID == e.EntryID)
}

// Fail returns an Error of the given Code.
func Fail(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// CodeOf returns the Code of the first Error in err's chain, or "".
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// wrapStorage says that what was being done failed in the Store. An Error that
// already has a Code keeps it.
func wrapStorage(doing string, err error) error {
	if err == nil || CodeOf(err) != "" || isContext(err) {
		return err
	}
	return &Error{Code: CodeStorage, Message: doing, Err: err}
}

// errStale ends a Drainer whose epoch is not the newest any more.
var errStale = errors.New("another tab drains now")

// ErrExists is in the chain of an Update's error that added an Entry whose id
// is stored already.
var ErrExists = errors.New("an entry of this id is stored already")

// errGeneration is returned for a write of a session that a reset has ended.
func errGeneration() error {
	return Fail(CodeReset, "this store was reset after the tab opened it; make the write again")
}

// unreachable marks an error as the Backend's absence.
type unreachable struct{ err error }

func (u *unreachable) Error() string { return u.err.Error() }
func (u *unreachable) Unwrap() error { return u.err }

// Unreachable wraps err so that the Drainer keeps the Request's Entries pending
// and tries again later. A Handler returns it when the Backend cannot be
// reached, whether or not the Request may have arrived.
func Unreachable(err error) error { return &unreachable{err} }

// Refused is an error that knows how it wants to be stored.
type Refused interface {
	error
	Failure() Failure
}

// failureOf returns err as it is stored.
func failureOf(err error) *Failure {
	if r, ok := errors.AsType[Refused](err); ok {
		f := r.Failure()
		return &f
	}
	return &Failure{Name: "Error", Message: err.Error()}
}

// ErrorOf returns the Error a Waiter of a failed Entry rejects with.
func ErrorOf(e Entry) *Error {
	message := "the backend refused this write"
	if e.Error != nil && e.Error.Message != "" {
		message += ": " + e.Error.Message
	}
	if e.DependsOn != "" {
		message = "this write was not sent: it " + e.Error.Message
	}
	return &Error{Code: CodeFailed, Message: message + " (kept as failed: retry or discard it)", EntryID: e.ID, Failure: e.Error}
}

// notArrived returns the Error that an Event tells of a Request, or a fetch, which did
// not arrive: nothing has failed for good.
func notArrived(id string, err error) *Error {
	failure := failureOf(err)
	return &Error{Code: CodeFailed, Message: failure.Message, EntryID: id, Failure: failure}
}
