package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/common/searchattribute/sadefs"
	schema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

// retention is how long closed runs are kept. While a run is kept, its workflow id cannot be started again with
// other parameters (I9), so it must outlive every retry of a caller. The schema's start value is one day.
const retention = 10 * 365 * 24 * time.Hour

// prepareNamespaces makes every namespace exist with the retention and the search attributes, before a service
// runs: written later through the API they would reach the services' caches only seconds after the start.
func prepareNamespaces(ctx context.Context, c *config.SQL, names []string, attributes map[string]enumspb.IndexedValueType) error {
	db, err := persistencesql.NewSQLDB(sqlplugin.DbKindMain, c, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return err
	}
	defer db.Close() // the plugin keeps the connection for the services
	for _, name := range names {
		if err := prepareNamespace(ctx, c, db, name, attributes); err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	return nil
}

func prepareNamespace(ctx context.Context, c *config.SQL, db sqlplugin.DB, name string, attributes map[string]enumspb.IndexedValueType) error {
	rows, err := db.SelectFromNamespace(ctx, sqlplugin.NamespaceFilter{Name: &name})
	if errors.Is(err, sql.ErrNoRows) {
		fresh, err := schema.NewNamespaceConfig(clusterName, name, false, nil)
		if err != nil {
			return err
		}
		if err := configureNamespace(fresh.Detail, attributes); err != nil {
			return err
		}
		return schema.CreateNamespaces(c, fresh)
	}
	if err != nil {
		return err
	}
	row := rows[0]
	serializer := serialization.NewSerializer()
	detail, err := serializer.NamespaceDetailFromBlob(persistence.NewDataBlob(row.Data, row.DataEncoding))
	if err != nil {
		return err
	}
	if err := configureNamespace(detail, attributes); err != nil {
		return err
	}
	blob, err := serializer.NamespaceDetailToBlob(detail)
	if err != nil {
		return err
	}
	row.Data, row.DataEncoding = blob.Data, blob.EncodingType.String()
	_, err = db.UpdateNamespace(ctx, &row)
	return err
}

// configureNamespace sets the retention and gives each missing attribute a free column of its type. Attributes
// that were registered earlier keep their columns, whether they are asked for or not: runs use them.
func configureNamespace(detail *persistencespb.NamespaceDetail, attributes map[string]enumspb.IndexedValueType) error {
	detail.Config.Retention = durationpb.New(retention)

	columns := sadefs.GetDBIndexSearchAttributes(nil).CustomSearchAttributes
	nameOf := detail.Config.CustomSearchAttributeAliases // column → name
	if nameOf == nil {
		nameOf = map[string]string{}
		detail.Config.CustomSearchAttributeAliases = nameOf
	}
	columnOf := map[string]string{}
	for column, name := range nameOf {
		columnOf[name] = column
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		valueType := attributes[name]
		if column, ok := columnOf[name]; ok {
			if columns[column] != valueType {
				return fmt.Errorf("search attribute %s is registered as %s, not as %s: use another name or database",
					name, columns[column], valueType)
			}
			continue
		}
		column := freeColumn(columns, nameOf, valueType)
		if column == "" {
			return fmt.Errorf("no room for search attribute %s: all columns of type %s are taken", name, valueType)
		}
		nameOf[column] = name
	}
	return nil
}

func freeColumn(columns map[string]enumspb.IndexedValueType, nameOf map[string]string, valueType enumspb.IndexedValueType) string {
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		if columns[column] == valueType && nameOf[column] == "" {
			return column
		}
	}
	return ""
}
