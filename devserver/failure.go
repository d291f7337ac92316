package main

import "fmt"

// The codes of the project's errors that this command can end with.
const (
	codeInvalidFlag     = "INVALID_FLAG"
	codePortInUse       = "PORT_IN_USE"
	codeStoreLocked     = "STORE_LOCKED"
	codeStoreUnreadable = "STORE_UNREADABLE"
	codeUnavailable     = "UNAVAILABLE"
)

// failure is an error with one of the codes above; its text begins with the code.
type failure struct {
	code string
	err  error
}

func failf(code, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...)}
}

func (f *failure) Error() string { return f.code + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }
