import { errorsOf, RPC } from '../../../src/plugin.ts'

/** Errors of the vault, where logins are kept. */
export const VAULT_ERRORS = {
  GW_VAULT_KEY: {
    text: 'the key of the logins is no good ({file}): {why}',
    hint: 'Give the key that they were sealed with. If it is lost, move grants.sqlite away and log in again.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT_DAMAGED: {
    text: 'the logins in {file} cannot be read: {why}',
    hint: 'Restore the file from a backup, or move it away and log in again. Nothing of it was changed.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT_DISK: {
    text: 'the logins in {file} cannot be used now: {why}',
    hint: 'Make room, or make the directory writable for the user of the gateway; it goes on by itself.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT_SHARED: {
    text: 'the logins that replicas share cannot be used: {why}',
    hint: 'Look at cluster.keys, which must be the same everywhere, and at who can write to Redis; or log in again.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_VAULT_FULL: {
    text: 'no more than {max} logins are kept',
    hint: 'Remove some: gateway logins, gateway logout.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

export const vaultError = errorsOf(VAULT_ERRORS)
