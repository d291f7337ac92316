package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"refundlab/cmd/internal/cmdline"
	"refundlab/provider/server"
	"refundlab/refund"
)

func dumpCommand() *cobra.Command {
	var db, profile string
	c := &cobra.Command{
		Use:   "dump",
		Short: "Print a ledger's orders, operations and entries as JSON",
		Long: `Print what is in a ledger's file, without changing it: the provider's, or with --profile local the one inside a journal.
What was received, billed and delivered is only known to a running provider (GET /control/evidence).`,
		Example: `  provider dump --db provider.db --profile full
  provider dump --db journal.db --profile local`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := refund.ProfileNamed(refund.ProfileName(profile)); err != nil {
				return err
			}
			world, err := server.Dump(c.Context(), db, refund.ProfileName(profile))
			if err != nil {
				return err
			}
			return cmdline.WriteJSON(c.OutOrStdout(), world)
		},
	}
	c.Flags().StringVar(&db, "db", "", "the `FILE` with the ledger")
	c.Flags().StringVar(&profile, "profile", string(refund.ProfileFull), "the profile under which it was written")
	_ = c.MarkFlagRequired("db")
	return c
}

// healthTimeout bounds one question about health.
const healthTimeout = 3 * time.Second

// healthCommand asks a running provider: the health check of a container that has nothing else in it.
func healthCommand() *cobra.Command {
	var url string
	c := &cobra.Command{
		Use:     "health",
		Short:   "Ask a running provider whether it serves",
		Example: `  provider health --url http://127.0.0.1:8080`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), healthTimeout)
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/healthz", nil)
			if err != nil || request.URL.Host == "" {
				return refund.Errorf(refund.CodeInvalidFlag, "--url %q is not usable: write one such as http://127.0.0.1:8080", url)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return refund.Wrap(refund.CodeUnavailable, err, "provider does not answer")
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return refund.Errorf(refund.CodeUnavailable, "provider answers %s", response.Status)
			}
			return nil
		},
	}
	c.Flags().StringVar(&url, "url", "", "`URL` that the provider printed")
	_ = c.MarkFlagRequired("url")
	return c
}
