import { RPC } from '../protocol/rpc-error.ts'

/** Rows of the error table that are about too much at a time. */
export const LOAD_ERRORS = {
  GW_TOO_LARGE: {
    text: '{what} is larger than {limit} bytes',
    hint: 'Raise the limit in the configuration if it is meant.',
    http: 413,
    rpc: RPC.internal,
  },
  GW_OVERLOADED: {
    text: 'the gateway has no room for this now',
    hint: 'Call again in a moment. limits of the listener and overload say where it begins.',
    http: 503,
    rpc: RPC.internal,
  },
} as const
