package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// retryPause is the time between two questions during the start, in which nothing announces its readiness.
const retryPause = 20 * time.Millisecond

// waitReady returns once a workflow can start in each namespace. It starts none, which would stay in the database:
// it asks each service that a start needs for something that does not exist.
func (s *server) waitReady(ctx context.Context) error {
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	tick := time.NewTicker(retryPause)
	defer tick.Stop()
	var reason error // the last one that is not just the end of the time
	for {
		err := s.probe(ctx, conn)
		if err == nil {
			return nil
		}
		if reason == nil || status.Code(err) != codes.DeadlineExceeded {
			reason = err
		}
		select {
		case <-ctx.Done():
			return reason
		case <-tick.C:
		}
	}
}

func (s *server) probe(ctx context.Context, conn *grpc.ClientConn) error {
	const service = "temporal.api.workflowservice.v1.WorkflowService"
	health, err := grpc_health_v1.NewHealthClient(conn).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: service}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("frontend: %w", err)
	}
	if health.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("frontend: %s", health.Status)
	}
	client := workflowservice.NewWorkflowServiceClient(conn)
	for _, namespace := range s.options.namespaces {
		if err := s.probeNamespace(ctx, client, namespace); err != nil {
			return fmt.Errorf("namespace %s: %w", namespace, err)
		}
	}
	return nil
}

func (s *server) probeNamespace(ctx context.Context, client workflowservice.WorkflowServiceClient, namespace string) error {
	described, err := client.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	if kept := described.Config.WorkflowExecutionRetentionTtl.AsDuration(); kept != retention {
		return fmt.Errorf("retention is %s, not %s", kept, retention)
	}
	// History: the shard is owned when it can say "not found".
	_, err = client.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace,
		Execution: &commonpb.WorkflowExecution{WorkflowId: "devserver-ready-probe"},
	})
	if err != nil && status.Code(err) != codes.NotFound {
		return fmt.Errorf("history: %w", err)
	}
	// Visibility, and the search attributes in the frontend's cache.
	var conditions []string
	for _, name := range slices.Sorted(maps.Keys(s.options.searchAttributes)) {
		conditions = append(conditions, name+" IS NULL")
	}
	if _, err := client.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: namespace, Query: strings.Join(conditions, " AND "),
	}); err != nil {
		return fmt.Errorf("visibility: %w", err)
	}
	return nil
}
