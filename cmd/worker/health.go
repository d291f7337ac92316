package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"refundlab/refund"
)

// healthBound ends one question about health.
const healthBound = 3 * time.Second

// serveHealth answers GET /healthz until stop is called.
func serveHealth(address string, healthy func(context.Context) error) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, refund.Wrap(refund.CodePortInUse, err, "--health-listen %q: give another port", address)
	case err != nil:
		return nil, refund.Wrap(refund.CodeInvalidFlag, err, "--health-listen %q cannot be listened on", address)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), healthBound)
		defer cancel()
		if err := healthy(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n") // nobody to tell when the asker is gone
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: healthBound}
	go func() { _ = server.Serve(listener) }() // ends with Close
	return func() { _ = server.Close() }, nil
}

// healthCommand asks a running worker: the health check of a container that has nothing else in it.
func healthCommand() *cobra.Command {
	var url string
	c := &cobra.Command{
		Use:     "health",
		Short:   "Ask a running worker whether it could take work",
		Example: `  worker health --url http://127.0.0.1:9090`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), healthBound)
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/healthz", nil)
			if err != nil || request.URL.Host == "" {
				return refund.Errorf(refund.CodeInvalidFlag, "--url %q is not usable: write one such as http://127.0.0.1:9090", url)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return refund.Wrap(refund.CodeUnavailable, err, "worker does not answer")
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
				return refund.Errorf(refund.CodeUnavailable, "worker answers %d: %s", response.StatusCode, strings.TrimSpace(string(text)))
			}
			return nil
		},
	}
	c.Flags().StringVar(&url, "url", "", "`URL` that was given to --health-listen")
	_ = c.MarkFlagRequired("url")
	return c
}
