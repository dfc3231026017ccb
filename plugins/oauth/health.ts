import { findingsOf } from '../../src/plugin.ts'

/** Findings about logins. */
export const HEALTH = {
  'callers-wait-for-login': {
    level: 'info',
    text: '{waiting} told to log in to {upstream}, and not there yet; logged in: {granted}',
    fix: 'gateway logins',
  },
} as const

export const loginFinding = findingsOf(HEALTH)
