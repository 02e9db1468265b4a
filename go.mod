module github.com/stdsync/outbox

go 1.26

require (
	github.com/hack-pad/go-indexeddb v0.3.2
	github.com/stretchr/testify v1.12.1
	pgregory.net/rapid v1.3.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/hack-pad/safejs v0.1.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
