// SPDX-License-Identifier: GPL-2.0-or-later

// Parca's server, wired as its pkg/parca/parca.go does. It has no page, and does not scrape: service discovery takes
// long to build. It stores in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"os"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/dgraph-io/badger/v4"
	"github.com/go-kit/log"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/polarsignals/frostdb"
	"github.com/polarsignals/frostdb/dynparquet"
	"github.com/polarsignals/frostdb/query"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/thanos-io/objstore"
	"github.com/thanos-io/objstore/providers/filesystem"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	debuginfopb "github.com/parca-dev/parca/gen/proto/go/parca/debuginfo/v1alpha1"
	profilestorepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	sharepb "github.com/parca-dev/parca/gen/proto/go/parca/share/v1alpha1"
	"github.com/parca-dev/parca/pkg/debuginfo"
	"github.com/parca-dev/parca/pkg/demangle"
	"github.com/parca-dev/parca/pkg/ingester"
	"github.com/parca-dev/parca/pkg/kv"
	"github.com/parca-dev/parca/pkg/parcacol"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/parca-dev/parca/pkg/profilestore"
	queryservice "github.com/parca-dev/parca/pkg/query"
	"github.com/parca-dev/parca/pkg/server"
	"github.com/parca-dev/parca/pkg/symbolizer"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	address := flag.String("address", "127.0.0.1:7070", "of the server")
	folder := flag.String("folder", ".", "for debug information")
	flag.Parse()

	// Without the folder nothing gets a name, and nothing tells why.
	cache := *folder + "/cache"
	if err := os.MkdirAll(cache, 0o755); err != nil {
		panic(err)
	}
	ctx := context.Background()
	logger := log.NewLogfmtLogger(os.Stderr)
	registry := prometheus.NewRegistry()
	traces := noop.NewTracerProvider()
	tracer := traces.Tracer("parca")
	allocator := memory.DefaultAllocator

	var bucket objstore.Bucket = must(filesystem.NewBucket(*folder + "/bucket"))
	db := must(badger.Open(badger.DefaultOptions("").WithInMemory(true).WithLogger(nil)))
	clients := debuginfo.NewDebuginfodClients(logger, registry, traces, []string{"http://127.0.0.1:1"},
		http.DefaultTransport, 5*time.Minute, objstore.NewPrefixedBucket(bucket, "debuginfod-cache"))
	files := objstore.NewPrefixedBucket(bucket, "debuginfo")
	metadata := debuginfo.NewObjectStoreMetadata(logger, files)
	debugStore := must(debuginfo.NewStore(tracer, logger, metadata, files, clients, debuginfo.SignedUpload{},
		15*time.Minute, 1000000000))

	columns := must(frostdb.New(frostdb.WithActiveMemorySize(128<<20), frostdb.WithLogger(logger),
		frostdb.WithRegistry(registry), frostdb.WithTracer(tracer)))
	tables := must(columns.DB(ctx, "parca"))
	definition := profile.SchemaDefinition()
	table := must(tables.Table("stacktraces", frostdb.NewTableConfig(definition, frostdb.WithRowGroupSize(8192))))
	profiles := profilestore.NewProfileColumnStore(registry, logger, tracer, ingester.NewIngester(logger, table),
		must(dynparquet.SchemaFromDefinition(definition)), allocator)

	names := symbolizer.New(logger, metadata, symbolizer.NewBadgerCache(db), debuginfo.NewFetcher(clients, files), cache,
		"", symbolizer.WithDemangleMode("simple"))
	querier := parcacol.NewQuerier(logger, tracer,
		query.NewEngine(allocator, tables.TableProvider(), query.WithTracer(tracer)), "stacktraces", names,
		must(demangle.NewDefaultDemangler()), allocator)
	nowhere := must(grpc.NewClient("127.0.0.1:1", grpc.WithTransportCredentials(insecure.NewCredentials())))
	queries := queryservice.NewColumnQueryAPI(logger, tracer, sharepb.NewShareServiceClient(nowhere), querier, allocator,
		parcacol.NewArrowToProfileConverter(tracer, kv.NewKeyMaker()),
		queryservice.NewBucketSourceFinder(files, clients))

	register := func(ctx context.Context, srv *grpc.Server, mux *runtime.ServeMux, endpoint string,
		opts []grpc.DialOption) error {
		debuginfopb.RegisterDebuginfoServiceServer(srv, debugStore)
		profilestorepb.RegisterProfileStoreServiceServer(srv, profiles)
		querypb.RegisterQueryServiceServer(srv, queries)
		return errors.Join(
			debuginfopb.RegisterDebuginfoServiceHandlerFromEndpoint(ctx, mux, endpoint, opts),
			profilestorepb.RegisterProfileStoreServiceHandlerFromEndpoint(ctx, mux, endpoint, opts),
			querypb.RegisterQueryServiceHandlerFromEndpoint(ctx, mux, endpoint, opts))
	}
	panic(server.NewServer(registry, "").ListenAndServe(ctx, logger, os.DirFS(cache), *address, 5*time.Second,
		time.Minute, nil, "", server.RegisterableFunc(register)))
}
