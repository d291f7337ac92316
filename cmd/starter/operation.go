package main

import (
	"github.com/spf13/cobra"

	"refundlab/refund"
)

// operation names the run that a verb speaks of: by the operation id as its argument, or by the caller's own names.
type operation struct{ tenant, requestID string }

const operationUse = " {OPERATION_ID | --tenant T --request-id R}"

func (o *operation) register(c *cobra.Command) {
	c.Args = cobra.MaximumNArgs(1)
	c.Flags().StringVar(&o.tenant, "tenant", "", "tenant, instead of OPERATION_ID")
	c.Flags().StringVar(&o.requestID, "request-id", "", "the caller's request id, instead of OPERATION_ID")
	c.MarkFlagsRequiredTogether("tenant", "request-id")
}

func (o *operation) id(c *cobra.Command, args []string) (refund.OperationID, error) {
	named := c.Flags().Changed("tenant")
	switch {
	case len(args) == 1 && named:
		return "", refund.Errorf(refund.CodeInvalidFlag, "the run is named twice: give OPERATION_ID or --tenant and --request-id, not both")
	case len(args) == 1:
		return refund.ParseOperationID(args[0])
	case !named:
		return "", refund.Errorf(refund.CodeInvalidFlag, "the run is not named: give OPERATION_ID or --tenant and --request-id")
	}
	tenant, err := refund.ParseIdentity("tenant", o.tenant)
	if err != nil {
		return "", err
	}
	requestID, err := refund.ParseIdentity("request id", o.requestID)
	if err != nil {
		return "", err
	}
	return refund.NewOperationID(tenant, refund.Kind, requestID), nil
}
