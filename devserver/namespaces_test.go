package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	schema "go.temporal.io/server/schema/sqlite"
)

const (
	keyword = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	integer = enumspb.INDEXED_VALUE_TYPE_INT
)

type attributes = map[string]enumspb.IndexedValueType

func TestNamespaceKeepsTheColumnsOfEarlierStarts(t *testing.T) {
	fresh, err := schema.NewNamespaceConfig(clusterName, "default", false, nil)
	require.NoError(t, err)
	namespace := fresh.Detail

	require.NoError(t, configureNamespace(namespace, attributes{"Status": keyword}))
	require.Equal(t, map[string]string{"Keyword01": "Status"}, namespace.Config.CustomSearchAttributeAliases)

	// A name that sorts before the first one must not take its column: stored runs would change their values.
	require.NoError(t, configureNamespace(namespace, attributes{"Amount": integer, "Order": keyword, "Status": keyword}))
	want := map[string]string{"Keyword01": "Status", "Keyword02": "Order", "Int01": "Amount"}
	require.Equal(t, want, namespace.Config.CustomSearchAttributeAliases)

	require.NoError(t, configureNamespace(namespace, nil))
	require.Equal(t, want, namespace.Config.CustomSearchAttributeAliases, "a start without attributes drops none")
	require.Equal(t, retention, namespace.Config.Retention.AsDuration())

	require.ErrorContains(t, configureNamespace(namespace, attributes{"Status": integer}), "registered as Keyword, not as Int")
}

func TestNamespaceHasRoomForAFewAttributesOfEachType(t *testing.T) {
	fresh, err := schema.NewNamespaceConfig(clusterName, "default", false, nil)
	require.NoError(t, err)
	require.ErrorContains(t,
		configureNamespace(fresh.Detail, attributes{"A": integer, "B": integer, "C": integer, "D": integer}),
		"no room for search attribute D")
}
