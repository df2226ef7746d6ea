// Pyroscope's own API handler of Push: pyroscope ADDRESS FOLDER writes each profile to FOLDER/N.pb.gz, and its labels to
// standard output. The server itself does not build from its module.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
)

type pusher struct{}

var count int

func (pusher) Push(_ context.Context, r *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	for _, s := range r.Msg.Series {
		for _, l := range s.Labels {
			fmt.Printf("%s=%s ", l.Name, l.Value)
		}
		for _, sample := range s.Samples {
			count++
			name := fmt.Sprintf("%s/%d.pb.gz", os.Args[2], count)
			fmt.Printf("%s\n", name)
			if err := os.WriteFile(name, sample.RawProfile, 0o600); err != nil {
				return nil, connect.NewError(connect.CodeInternal, err)
			}
		}
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

func main() {
	path, handler := pushv1connect.NewPusherServiceHandler(pusher{})
	mux := http.NewServeMux()
	mux.Handle(path, handler)
	panic(http.ListenAndServe(os.Args[1], mux))
}
