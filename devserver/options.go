package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/searchattribute/sadefs"
)

// options is what the command line asks for. Ports are 1 to 65535; 0 means "a free one" for the frontend, "none"
// for HTTP, and for the UI the frontend's port plus 1000.
type options struct {
	ip               string
	port             int
	httpPort         int
	uiPort           int
	headless         bool
	dbFilename       string // empty: in memory, gone with the process
	namespaces       []string
	searchAttributes map[string]enumspb.IndexedValueType
	dynamicConfig    dynamicconfig.StaticClient
	pragmas          map[string]string
	logLevel         string
	logFormat        string
}

var (
	namespaceName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,254}$`)
	attributeName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,127}$`)
)

// defaultDynamicConfig is set below whatever --dynamic-config-value says. Everything that shapes the server's
// timing stays at the server's default (timers may fire up to history.timerProcessorMaxTimeShift = 1 s late): the
// project measures recovery on the semantics that an operator gets. The exceptions are throttles meant for many
// shards, which with one shard dominate each measurement.
func defaultDynamicConfig() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// The default of 20 polls a second and shard makes each task of the single shard wait for a grid of 50 ms.
		dynamicconfig.TransferProcessorMaxPollRPS.Key(): 1000,
		// The default of 10 list calls a second refuses a client that lists while tests run beside it.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
		// Runs kept hot in memory at about 40 KiB each; the default of 128,000 is meant for a cluster.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 8192,
		dynamicconfig.EnableServerVersionCheck.Key():     false,
	}
}

// parseOptions reads the command line without the program's name. It returns flag.ErrHelp after -h.
func parseOptions(args []string, usage io.Writer) (options, error) {
	if len(args) >= 2 && args[0] == "server" && args[1] == "start-dev" {
		args = args[2:]
	}
	o := options{
		searchAttributes: map[string]enumspb.IndexedValueType{},
		dynamicConfig:    defaultDynamicConfig(),
		pragmas:          map[string]string{"journal_mode": "wal", "synchronous": "full"},
	}
	fs := flag.NewFlagSet("devserver", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // run prints the error once
	fs.StringVar(&o.ip, "ip", "127.0.0.1", "`address` the frontend and the UI listen on")
	fs.IntVar(&o.port, "port", 7233, "frontend `port`; 0 takes a free one, see the ready line")
	fs.IntVar(&o.httpPort, "http-port", 0, "`port` of the frontend's HTTP API; 0 is off")
	fs.IntVar(&o.uiPort, "ui-port", 0, "`port` of the web UI; 0 is the frontend's port + 1000")
	fs.BoolVar(&o.headless, "headless", false, "no web UI")
	fs.StringVar(&o.dbFilename, "db-filename", "", "SQLite `file`, created if missing; without it all is lost at exit")
	fs.StringVar(&o.logLevel, "log-level", "warn", "`level`: debug, info, warn, error or never")
	fs.StringVar(&o.logFormat, "log-format", "text", "`format` of the log on standard error: text, pretty or json")
	fs.Func("namespace", "`name` to create beside default; repeatable", o.addNamespace)
	fs.Func("search-attribute", "`NAME=TYPE` known in every namespace named here; repeatable", o.addSearchAttribute)
	fs.Func("dynamic-config-value", "`KEY=JSON`; repeatable", o.addDynamicConfig)
	fs.Func("sqlite-pragma", "`PRAGMA=VALUE`, journal_mode or synchronous; repeatable", o.addPragma)

	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(usage, "usage: devserver [server start-dev] [flags]")
			fs.SetOutput(usage)
			fs.PrintDefaults()
			return options{}, err
		}
		return options{}, failf(codeInvalidFlag, "%w; see devserver -h", err)
	}
	if err := o.validate(fs.Args()); err != nil {
		return options{}, failf(codeInvalidFlag, "%w", err)
	}
	return o, nil
}

func (o *options) validate(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q: only flags are understood", rest[0])
	}
	if o.ip == "localhost" {
		o.ip = "127.0.0.1"
	}
	if net.ParseIP(o.ip) == nil {
		return fmt.Errorf("--ip %q is not an IP address", o.ip)
	}
	for _, p := range []struct {
		flag string
		port int
	}{{"port", o.port}, {"http-port", o.httpPort}, {"ui-port", o.uiPort}} {
		if p.port < 0 || p.port > 65535 {
			return fmt.Errorf("--%s %d is not a port (0 to 65535)", p.flag, p.port)
		}
	}
	if !o.headless && o.uiPort == 0 && o.port+1000 > 65535 {
		return fmt.Errorf("--port %d leaves no UI port 1000 above it: give --ui-port or --headless", o.port)
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error", "never"}, o.logLevel) {
		return fmt.Errorf("--log-level %q is not one of debug, info, warn, error, never", o.logLevel)
	}
	if !slices.Contains([]string{"text", "pretty", "json"}, o.logFormat) {
		return fmt.Errorf("--log-format %q is not one of text, pretty, json", o.logFormat)
	}
	if !slices.Contains(o.namespaces, "default") {
		o.namespaces = append([]string{"default"}, o.namespaces...)
	}
	return nil
}

func (o *options) addNamespace(name string) error {
	if !namespaceName.MatchString(name) {
		return fmt.Errorf("a namespace is letters, digits, '.', '_' and '-', at most 255")
	}
	if !slices.Contains(o.namespaces, name) {
		o.namespaces = append(o.namespaces, name)
	}
	return nil
}

func (o *options) addSearchAttribute(pair string) error {
	name, typeName, ok := strings.Cut(pair, "=")
	if !ok || !attributeName.MatchString(name) {
		return fmt.Errorf("want NAME=TYPE with a name of letters, digits and '_'")
	}
	if sadefs.IsReserved(name) || !sadefs.IsMappable(name) {
		return fmt.Errorf("%s is one of Temporal's own names", name)
	}
	valueType, err := enumspb.IndexedValueTypeFromString(typeName)
	if err != nil || valueType == enumspb.INDEXED_VALUE_TYPE_UNSPECIFIED {
		return fmt.Errorf("type %q is not one of Bool, Datetime, Double, Int, Keyword, KeywordList, Text", typeName)
	}
	if other, ok := o.searchAttributes[name]; ok && other != valueType {
		return fmt.Errorf("%s is given twice, as %s and as %s", name, other, valueType)
	}
	o.searchAttributes[name] = valueType
	return nil
}

func (o *options) addDynamicConfig(pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	if !ok || name == "" {
		return errors.New("want KEY=JSON")
	}
	if !json.Valid([]byte(value)) {
		return fmt.Errorf("the value of %s is not JSON (a string needs double quotes)", name)
	}
	key := dynamicconfig.MakeKey(name)
	var loader dynamicconfig.YamlLoader
	loader.LoadValue(key, []byte(`[{"value": `+value+`}]`))
	// An unknown key is only a warning to the loader: here it is a spelling mistake that would silently do nothing.
	if err := errors.Join(append(loader.Errors, loader.Warnings...)...); err != nil {
		return err
	}
	o.dynamicConfig[key] = loader.Map[key]
	return nil
}

func (o *options) addPragma(pair string) error {
	name, value, ok := strings.Cut(strings.ToLower(pair), "=")
	allowed := map[string][]string{
		"journal_mode": {"wal", "delete", "truncate", "persist", "memory", "off"},
		"synchronous":  {"off", "normal", "full", "extra", "0", "1", "2", "3"},
	}
	if !ok || allowed[name] == nil {
		return errors.New("want journal_mode=VALUE or synchronous=VALUE")
	}
	if !slices.Contains(allowed[name], value) {
		return fmt.Errorf("%s is one of %s", name, strings.Join(allowed[name], ", "))
	}
	o.pragmas[name] = value
	return nil
}
