export interface ScriptLimits {
  /** Milliseconds for the script, including its tool calls. */
  readonly ms: number
  /** Memory in bytes. */
  readonly memory: number
  /** Maximum tool calls. */
  readonly calls: number
  /** Maximum characters for one call's arguments, and for the result. */
  readonly argumentLength: number
  readonly resultLength: number
}

/** Message from the script thread: engine started, a tool call with JSON arguments, or the end. */
export type FromSandbox =
  | { readonly kind: 'begun' }
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly args: string }
  | { readonly kind: 'end'; readonly hasFailed: boolean; readonly text: string }

/** Answer to a tool call, as JSON: `{ value }` or `{ error }`. */
export interface ToSandbox {
  readonly id: number
  readonly text: string
}
