// Package static serves the demo's built pages from a directory.
//
// It promises exact types for modules and wasm, a content security policy on
// every answer, revalidation on every load, and never a directory listing.
package static
