// kfake runs one fake broker of github.com/twmb/franz-go/pkg/kfake on a free port of 127.0.0.1 until SIGTERM.
// Its arguments are settings of the broker: NAME=VALUE.
package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	listen := func(network, _ string) (net.Listener, error) { return net.Listen(network, "127.0.0.1:0") }
	settings := map[string]string{}
	for _, argument := range os.Args[1:] {
		name, value, _ := strings.Cut(argument, "=")
		settings[name] = value
	}
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.ListenFn(listen), kfake.AllowAutoTopicCreation(), kfake.BrokerConfigs(settings),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer cluster.Close()
	fmt.Printf("kfake ready bootstrap=%s\n", cluster.ListenAddrs()[0])
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	<-stop
}
