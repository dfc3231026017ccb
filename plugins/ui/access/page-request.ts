import type { Gate, HttpRequest } from '../../../src/plugin.ts'

/** A request for the page or its API. */
export interface PageRequest extends Pick<
  HttpRequest,
  | 'listener'
  | 'method'
  | 'path'
  | 'query'
  | 'endpoint'
  | 'caller'
  | 'profile'
  | 'header'
  | 'body'
  | 'onGone'
  | 'remoteAddress'
> {
  /** The pipeline; absent where a command serves the page beside the gateway. */
  readonly gate?: Gate | undefined
}
