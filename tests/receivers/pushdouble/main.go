// SPDX-License-Identifier: GPL-2.0-or-later
// A stand-in for Pyroscope's push endpoint: the real generated Connect service (grafana/pyroscope/api), google/pprof's parser,
// and the label/time/size rules read in Pyroscope's validation. Prints one JSON line per accepted profile.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
)

type srv struct{}

func bad(f string, a ...any) error { return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(f, a...)) }

func (srv) Push(_ context.Context, r *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	if len(r.Msg.Series) == 0 {
		return nil, bad("no series")
	}
	for _, s := range r.Msg.Series {
		l := map[string]string{}
		for _, p := range s.Labels {
			if _, dup := l[p.Name]; dup {
				return nil, bad("duplicate label %s", p.Name)
			}
			if !utf8.ValidString(p.Value) || len(p.Value) > 2048 || len(p.Name) > 1024 {
				return nil, bad("invalid label %q", p.Name)
			}
			l[p.Name] = p.Value
		}
		if l["__name__"] == "" || l["service_name"] == "" || len(l) > 30 {
			return nil, bad("labels need __name__ and service_name, at most 30: %v", l)
		}
		for _, sm := range s.Samples {
			p, err := profile.ParseData(sm.RawProfile)
			if err != nil {
				return nil, bad("pprof: %v", err)
			}
			if err := p.CheckValid(); err != nil {
				return nil, bad("pprof: %v", err)
			}
			for _, f := range p.Function {
				if !utf8.ValidString(f.Name + f.Filename + f.SystemName) {
					return nil, bad("invalid UTF-8 string in function %d", f.ID)
				}
			}
			for _, t := range p.SampleType {
				if strings.Contains(t.Type, "-") {
					return nil, bad("profile type %q contains -", t.Type)
				}
			}
			if age := time.Since(time.Unix(0, p.TimeNanos)); age > time.Hour {
				return nil, bad("outside of ingestion window (%s old)", age)
			}
			if len(p.Sample) > 16000 {
				return nil, bad("%d samples", len(p.Sample))
			}
			json.NewEncoder(os.Stdout).Encode(map[string]any{"labels": l, "id": sm.ID, "types": p.SampleType, "samples": len(p.Sample), "top": p.Sample[0].Location[0].Line})
		}
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

func main() {
	mux := http.NewServeMux()
	mux.Handle(pushv1connect.NewPusherServiceHandler(srv{}))
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	panic((&http.Server{Addr: "127.0.0.1:" + os.Args[1], Handler: mux, Protocols: p}).ListenAndServe())
}
