/** Bounds of one script. */
export interface Limits {
  /** Milliseconds of the script, the calls of tools in it included. */
  readonly ms: number
  /** Bytes of its values. */
  readonly memory: number
  /** Calls of tools. */
  readonly calls: number
  /** Characters of the arguments of one call, and of the result. */
  readonly argumentLength: number
  readonly resultLength: number
}

/** Message of the thread of a script: that its engine is there, a call of a tool with arguments as JSON, or the end. */
export type FromSandbox =
  | { readonly kind: 'begun' }
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly args: string }
  | { readonly kind: 'end'; readonly hasFailed: boolean; readonly text: string }

/** Answer to a call, as JSON: `{ value }` or `{ error }`. */
export interface ToSandbox {
  readonly id: number
  readonly text: string
}
