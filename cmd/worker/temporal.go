package main

import (
	"context"
	"errors"
)

func (w *worker) openTemporal(context.Context, ports) (engine, error) {
	return engine{}, errors.New("not yet")
}
