package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

const (
	loopback    = "127.0.0.1"
	storeName   = "sqlite"
	clusterName = "active"
	// clusterID is written into the database at the first start; one that changed would only be warned about.
	clusterID = "7c9d43f6-2f0b-4f7e-9d0e-52f6f3a1c0de"
)

// server is the prepared or running process; address and uiAddress are where clients on this host reach it.
type server struct {
	options   options
	address   string
	uiAddress string
	temporal  temporal.Server
	ui        *uiserver.Server // nil: headless
	lock      *os.File         // nil: in memory
}

// newServer checks ports and database, so that what can be wrong is told before a service starts.
func newServer(o options) (_ *server, err error) {
	s := &server{options: o}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	ports := portFinder{}
	if err := claimPorts(&o, ports); err != nil {
		return nil, err
	}
	host := o.ip
	if net.ParseIP(host).IsUnspecified() {
		host = loopback // "all addresses" is nothing that a client can dial
	}
	s.address = net.JoinHostPort(host, strconv.Itoa(o.port))

	if o.dbFilename != "" {
		if s.lock, err = lockDatabase(o.dbFilename); err != nil {
			return nil, err
		}
	}
	store, err := sqlConfig(o)
	if err != nil {
		return nil, err
	}
	if err := prepareDatabase(context.Background(), store, o); err != nil {
		return nil, err
	}
	if s.temporal, err = newTemporal(o, s.address, store, ports); err != nil {
		return nil, failf(codeUnavailable, "cannot build the server: %w", err)
	}
	if !o.headless {
		s.uiAddress = net.JoinHostPort(host, strconv.Itoa(o.uiPort))
		s.ui = newUI(o, s.address)
	}
	return s, nil
}

func claimPorts(o *options, ports portFinder) error {
	if o.port == 0 {
		port, err := ports.free(o.ip)
		if err != nil {
			return failf(codePortInUse, "%w", err)
		}
		o.port = port
	}
	if o.uiPort == 0 {
		o.uiPort = o.port + 1000
	}
	type listener struct {
		flag string
		port int
	}
	wanted := []listener{{"port", o.port}}
	if o.httpPort != 0 {
		wanted = append(wanted, listener{"http-port", o.httpPort})
	}
	if !o.headless {
		wanted = append(wanted, listener{"ui-port", o.uiPort})
	}
	for _, w := range wanted {
		if err := claimable(o.ip, w.port); err != nil {
			return failf(codePortInUse, "cannot listen on %s port %d: %w; stop what uses it or give another --%s", o.ip, w.port, err, w.flag)
		}
		ports[w.port] = true
	}
	return nil
}

func newTemporal(o options, address string, store *config.SQL, ports portFinder) (temporal.Server, error) {
	c := &config.Config{}
	c.Global.Membership.MaxJoinDuration = 30 * time.Second
	c.Global.Membership.BroadcastAddress = loopback
	c.Persistence = config.Persistence{
		DefaultStore:     storeName,
		VisibilityStore:  storeName,
		NumHistoryShards: 1,
		DataStores:       map[string]config.DataStore{storeName: {SQL: store}},
	}
	c.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        clusterName,
		CurrentClusterName:       clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{
			clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address, ClusterID: clusterID},
		},
	}
	c.DCRedirectionPolicy.Policy = "noop"
	c.Archival.History.State = "disabled"
	c.Archival.Visibility.State = "disabled"
	c.NamespaceDefaults.Archival.History.State = "disabled"
	c.NamespaceDefaults.Archival.Visibility.State = "disabled"
	c.PublicClient.HostPort = address

	hosts := map[primitives.ServiceName]static.Hosts{}
	c.Services = map[string]config.Service{}
	for _, name := range temporal.DefaultServices {
		rpc := config.RPC{BindOnIP: loopback}
		host := address
		if name == string(primitives.FrontendService) {
			rpc = config.RPC{BindOnIP: o.ip, GRPCPort: o.port, HTTPPort: o.httpPort}
		} else {
			port, err := ports.free(loopback)
			if err != nil {
				return nil, err
			}
			rpc.GRPCPort = port
			host = net.JoinHostPort(loopback, strconv.Itoa(port))
		}
		c.Services[name] = config.Service{RPC: rpc}
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(host)
	}

	logger := newLogger(o)
	authorizer, err := authorization.GetAuthorizerFromConfig(&c.Global.Authorization)
	if err != nil {
		return nil, err
	}
	claims, err := authorization.GetClaimMapperFromConfig(&c.Global.Authorization, logger)
	if err != nil {
		return nil, err
	}
	return temporal.NewServer(
		temporal.WithConfig(c),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(o.dynamicConfig),
	)
}

func newLogger(o options) log.Logger {
	if o.logLevel == "never" {
		return log.NewNoopLogger()
	}
	format := "console"
	if o.logFormat == "json" {
		format = "json"
	}
	return log.NewZapLogger(log.BuildZapLogger(log.Config{Level: o.logLevel, Format: format}))
}

func newUI(o options, address string) *uiserver.Server {
	host := o.ip
	if net.ParseIP(host).To4() == nil {
		host = "[" + host + "]" // the UI joins host and port with a bare colon
	}
	return uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		Host:                host,
		Port:                o.uiPort,
		TemporalGRPCAddress: address,
		EnableUI:            true,
		DefaultNamespace:    o.namespaces[0],
		CORS:                uiconfig.CORS{CookieInsecure: true}, // plain HTTP on loopback
		DisableNewsFetch:    true,
		HideLogs:            true,
	}))
}

func (s *server) start() error {
	if err := s.temporal.Start(); err != nil {
		return failf(codeUnavailable, "cannot start the server: %w", err)
	}
	if s.ui != nil {
		go func() {
			if err := s.ui.Start(); err != nil {
				fmt.Fprintln(os.Stderr, "devserver: the UI ended:", err)
			}
		}()
	}
	return nil
}

// close stops whatever was started; the lock goes last.
func (s *server) close() {
	if s.ui != nil {
		s.ui.Stop()
	}
	if s.temporal != nil {
		if err := s.temporal.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "devserver: stop:", err)
		}
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
}
