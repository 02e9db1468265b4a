/** Go's runtime support, as the toolchain ships it. */
export class Go {
  exit: (code: number) => void
  exited: boolean
  /** What `js.Global()` is. */
  global: object
  importObject: WebAssembly.Imports
  _scheduledTimeouts: Map<number, ReturnType<typeof setTimeout>>
  run(instance: WebAssembly.Instance): Promise<void>
  _resume(): void
}

/** The stubs of `fs`, `process` and `path` that Go reads from its global object. */
export const env: Record<'fs' | 'process' | 'path', object>
