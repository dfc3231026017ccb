import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { GrantKey } from '../../../../../plugins/oauth/types.ts'
import { loadVaultKey, SqliteBackend } from '../../../../../plugins/oauth/vault/sqlite-backend.ts'
import { Vault } from '../../../../../plugins/oauth/vault/vault.ts'
import type { Clock, Log } from '../../../../../src/plugin.ts'
import { systemClock } from '../../../../../src/util/clock.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'
import { SILENT } from '../../install.ts'

export const KEY: GrantKey = {
  account: 'gateway',
  resource: 'https://mcp.example.com/mcp',
  issuer: 'https://as.example.com',
}

/** A state directory for one test. */
export function stateOf(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'vault-'))
  cleanup(context, () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

interface Given {
  readonly clock?: Clock
  readonly log?: Log
  readonly now?: () => number
  readonly key?: () => Promise<Buffer | undefined>
}

/** A vault in a directory, which is closed at the end. */
export function vaultIn(context: TestContext, directory: string, given: Given = {}): Vault {
  const { clock = systemClock, log = SILENT, now = Date.now } = given
  const programs = { captureOutput: () => Promise.reject(new Error('no program')) } as never
  const { key = () => loadVaultKey({ config: { secrets: {} }, directory, state: directory, programs }) } = given
  const vault = new Vault({ backend: new SqliteBackend({ directory, key, clock, log, now }), now })
  cleanup(context, () => vault.close())
  return vault
}
