import { RPC } from '../protocol/rpc-error.ts'

/** Rows of the error table that are about a gateway of several processes. */
export const WORKER_ERRORS = {
  GW_WORKERS: {
    text: 'this configuration does not go with {workers} workers: {why}',
    hint: 'docs/workers.md says what several workers share and what they do not; without --workers it runs as it is.',
    exit: 3,
  },
  GW_WORKER_GONE: {
    text: 'the worker has ended',
    hint: 'Another process takes its place; try again. The log says how it ended.',
    exit: 4,
    rpc: RPC.internal,
  },
} as const
