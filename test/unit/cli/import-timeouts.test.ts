import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { importServers } from '../../../src/cli/servers/import.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const COMMAND = { command: 'node', cmd: 'node' }

/** Text that is made of one server with this `timeout`. */
async function imported(t: TestContext, file: string, key: string, timeout: number): Promise<string> {
  const cwd = mkdtempSync(join(tmpdir(), 'timeouts-'))
  cleanup(t, () => rmSync(cwd, { recursive: true }))
  mkdirSync(dirname(join(cwd, file)), { recursive: true })
  const { cmd, command } = COMMAND
  const server = key === 'extensions' ? { cmd, timeout } : { command, timeout }
  writeFileSync(join(cwd, file), JSON.stringify({ [key]: { a: server } }))
  const options = { output: 'gateway.yaml', force: false, dryRun: true, remote: 'https://tools.example.com' }
  return (await importServers({ ...options, files: [file], cwd })).text
}

/** Client, its file, the key of its servers, its timeout, and what that is here. */
const ROWS: readonly (readonly [string, string, string, number, RegExp])[] = [
  ['Goose', 'config.yaml', 'extensions', 3600, /^ +timeout: 3600s$/m],
  ['Goose, a short one', 'config.yaml', 'extensions', 300, /^ +timeout: 300s$/m],
  ['Cline', 'cline_mcp_settings.json', 'mcpServers', 1800, /^ +timeout: 1800s$/m],
  ['Roo Code', '.roo/mcp.json', 'mcpServers', 3600, /^ +timeout: 3600s$/m],
  ['Roo Code, of its user', 'rooveterinaryinc.roo-cline/settings/mcp_settings.json', 'mcpServers', 3600, /3600s/],
  ['Crush, of connecting', 'crush.json', 'mcp', 1200, /^ +startupTimeout: 1200s$/m],
  ['Crush, of a project', '.crush.json', 'mcp', 30, /^ +startupTimeout: 30s$/m],
  ['opencode', 'opencode.json', 'mcp', 900, /^ +timeout: 900$/m],
  ['Gemini', '.gemini/settings.json', 'mcpServers', 900, /^ +timeout: 900$/m],
  ['a client that counts milliseconds', '.mcp.json', 'mcpServers', 60_000, /^ +timeout: 60000$/m],
  ['a client that counts seconds', '.mcp.json', 'mcpServers', 60, /^ +timeout: 60s$/m],
]

describe('a timeout is counted as its client counts it', () => {
  for (const [client, file, key, timeout, written] of ROWS)
    it(client, async t => assert.match(await imported(t, file, key, timeout), written))
})
