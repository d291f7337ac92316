package main

import (
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/dynamicconfig"
)

func TestOptionsUnderstandTheCommandLineOfStartDev(t *testing.T) {
	o, err := parseOptions(strings.Fields(`server start-dev --ip localhost --port 7300 --http-port 7301 --ui-port=8300
		--headless --db-filename t.db --namespace eu --namespace default --search-attribute RefundStatus=Keyword
		--search-attribute RefundAmount=Int --dynamic-config-value history.timerProcessorMaxTimeShift="50ms"
		--dynamic-config-value history.transferProcessorMaxPollRPS=7
		--sqlite-pragma synchronous=normal --log-level error --log-format json`), nil)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", o.ip)
	require.Equal(t, []int{7300, 7301, 8300}, []int{o.port, o.httpPort, o.uiPort})
	require.True(t, o.headless)
	require.Equal(t, "t.db", o.dbFilename)
	require.Equal(t, []string{"eu", "default"}, o.namespaces)
	require.Equal(t, map[string]enumspb.IndexedValueType{
		"RefundStatus": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"RefundAmount": enumspb.INDEXED_VALUE_TYPE_INT,
	}, o.searchAttributes)
	require.Equal(t, map[string]string{"journal_mode": "wal", "synchronous": "normal"}, o.pragmas)
	require.Equal(t, "error", o.logLevel)
	require.Equal(t, "json", o.logFormat)

	settings := dynamicconfig.NewCollection(o.dynamicConfig, newLogger(options{logLevel: "never"}))
	require.Equal(t, 7, dynamicconfig.TransferProcessorMaxPollRPS.Get(settings)(), "the command line wins over the default")
	require.Equal(t, "50ms", dynamicconfig.TimerProcessorMaxTimeShift.Get(settings)().String())
}

func TestOptionsByDefaultAreDurableAndOnLoopback(t *testing.T) {
	o, err := parseOptions(nil, nil)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", o.ip)
	require.Equal(t, []string{"default"}, o.namespaces)
	require.Equal(t, map[string]string{"journal_mode": "wal", "synchronous": "full"}, o.pragmas)

	settings := dynamicconfig.NewCollection(o.dynamicConfig, newLogger(options{logLevel: "never"}))
	require.Equal(t, 1000, dynamicconfig.TransferProcessorMaxPollRPS.Get(settings)())
	require.Equal(t, "1s", dynamicconfig.TimerProcessorMaxTimeShift.Get(settings)().String(), "timing stays Temporal's")
	require.False(t, dynamicconfig.EnableServerVersionCheck.Get(settings)())
}

func TestOptionsRefuseWhatCannotBeMeant(t *testing.T) {
	for name, c := range map[string]struct{ args, says string }{
		"unknown flag":                {"--prot 1", "not defined: -prot"},
		"argument":                    {"start", `unexpected argument "start"`},
		"address":                     {"--ip 127.0.0.999", `--ip "127.0.0.999" is not an IP address`},
		"port not a number":           {"--port seven", `invalid value "seven"`},
		"port too large":              {"--port 70000", "--port 70000 is not a port"},
		"negative port":               {"--ui-port=-1", "--ui-port -1 is not a port"},
		"no room for the UI's port":   {"--port 65000", "give --ui-port or --headless"},
		"namespace":                   {"--namespace a/b", "a namespace is letters"},
		"attribute without a type":    {"--search-attribute RefundStatus", "want NAME=TYPE"},
		"attribute of unknown type":   {"--search-attribute RefundStatus=Money", `type "Money" is not one of`},
		"attribute of two types":      {"--search-attribute A=Int --search-attribute A=Text", "given twice"},
		"attribute of Temporal's own": {"--search-attribute WorkflowId=Keyword", "Temporal's own"},
		"setting without a value":     {"--dynamic-config-value history.x", "want KEY=JSON"},
		"setting not JSON":            {"--dynamic-config-value limit.blobSize.error=2mb", "is not JSON"},
		"setting unknown":             {"--dynamic-config-value history.transferProcessorMaxPolRPS=1", "unregistered key"},
		"setting of another type":     {`--dynamic-config-value history.transferProcessorMaxPollRPS="many"`, "validation failed"},
		"pragma unknown":              {"--sqlite-pragma cache_size=1", "want journal_mode=VALUE or synchronous=VALUE"},
		"pragma's value":              {"--sqlite-pragma synchronous=always", "synchronous is one of"},
		"log level":                   {"--log-level loud", `--log-level "loud" is not one of`},
		"log format":                  {"--log-format xml", `--log-format "xml" is not one of`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseOptions(strings.Fields(c.args), nil)
			require.ErrorContains(t, err, "INVALID_FLAG: ")
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestOptionsHelpListsTheFlags(t *testing.T) {
	var out strings.Builder
	_, err := parseOptions([]string{"-h"}, &out)
	require.ErrorIs(t, err, flag.ErrHelp)
	require.Contains(t, out.String(), "-db-filename file")
}
