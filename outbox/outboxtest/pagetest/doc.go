// Package pagetest fails the tests of a package in the browser for what nobody
// caught there: the browser test runner itself lets unhandled rejections and
// uncaught errors pass.
package pagetest
