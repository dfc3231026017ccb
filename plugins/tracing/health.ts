import { findingsOf } from '../../src/plugin.ts'

/** Findings about traces. */
export const HEALTH = {
  'tracing-unsent': {
    level: 'warning',
    text: 'spans cannot be sent to {to}: {why}',
    fix: 'See that a collector takes OTLP over HTTP there (port 4318 as a rule); tracing.endpoint says where',
  },
} as const

export const found = findingsOf(HEALTH)
