package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that is up but lacks what was asked for must not be called ready: here one process runs and another
// expectation is held against it.
func TestReadinessNeedsEverythingThatWasAskedFor(t *testing.T) {
	p := start(t, "--headless", "--port", "0", "--search-attribute", "RefundStatus=Keyword")
	for name, c := range map[string]struct {
		options options
		says    string
	}{
		"a namespace":        {options{namespaces: []string{"default", "missing"}}, "namespace missing"},
		"a search attribute": {options{namespaces: []string{"default"}, searchAttributes: attributes{"Missing": keyword}}, "visibility: "},
		"nothing":            {options{namespaces: []string{"default"}, searchAttributes: attributes{"RefundStatus": keyword}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			err := (&server{options: c.options, address: p.address}).waitReady(ctx)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
		})
	}
}
