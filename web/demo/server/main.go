package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/stdsync/outbox/web/demo/server/api"
	"github.com/stdsync/outbox/web/demo/server/static"
	"github.com/stdsync/outbox/web/demo/server/todos"
)

// grace is how long a stop waits for requests that are under way.
const grace = 2 * time.Second

type config struct {
	addr   string
	db     string
	web    string
	faults bool
}

func main() {
	var c config
	flag.StringVar(&c.addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 picks one")
	flag.StringVar(&c.db, "db", "demo.sqlite", "SQLite `file`, made if missing")
	flag.StringVar(&c.web, "web", "", "`directory` to serve at /; none without it")
	flag.BoolVar(&c.faults, "faults", false, "let clients set faults, reset the data and act as another user")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unexpected argument %q: all settings are flags, see -help", flag.Arg(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends. It writes one line to out once it listens.
func run(ctx context.Context, c config, out io.Writer) (err error) {
	store, err := todos.Open(ctx, c.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	server := &http.Server{
		Handler:           handler(store, c),
		ReadHeaderTimeout: 10 * time.Second,
		// Held requests end with ctx.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	if _, err := fmt.Fprintf(out, "listening on http://%s\n", listener.Addr()); err != nil {
		return errors.Join(fmt.Errorf("saying where: %w", err), listener.Close())
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(within) != nil {
		return server.Close()
	}
	return nil
}

func handler(store *todos.Store, c config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/", api.New(store, c.faults))
	if c.web != "" {
		mux.Handle("/", static.Handler(os.DirFS(c.web)))
	}
	if c.faults {
		return closing(mux)
	}
	return mux
}

// closing has every connection serve one request. On a connection that was used
// before, browsers and Go's client send a dropped request again by themselves,
// and a fault would be met twice.
func closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		next.ServeHTTP(w, r)
	})
}
