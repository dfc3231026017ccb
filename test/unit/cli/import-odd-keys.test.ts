import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { importServers, type ImportResult } from '../../../src/cli/servers/import.ts'

const directory = mkdtempSync(join(tmpdir(), 'odd-'))
after(() => rmSync(directory, { recursive: true }))

async function imported(settings: object): Promise<ImportResult> {
  const file = join(directory, 'settings.json')
  writeFileSync(file, JSON.stringify(settings))
  const options = { output: 'gateway.yaml', force: false, dryRun: true, remote: 'https://tools.example.com' }
  return importServers({ ...options, files: [file], cwd: directory })
}

/** Writes the settings of a client, imports them, and joins what is written of the server with what is said of it. */
async function told(key: string, server: object): Promise<string> {
  const { text, notes } = await imported({ [key]: { odd: server } })
  return `${text}\n${notes.join('\n')}`
}

const URL = 'https://web.example.com/mcp'

/** Title, key of the servers, server, and all that must be told of it. */
const ROWS: readonly (readonly [string, string, object, readonly string[]])[] = [
  ['arguments beside a command that is a list', 'mcpServers', { command: ['npx', '-y'], args: ['web'] }, ['-y', 'web']],
  ['arguments before such a command', 'mcp', { args: ['web'], command: ['npx', '-y'] }, ['-y', 'web']],
  ['arguments that are one text', 'mcpServers', { command: 'npx', args: '-y web' }, ['"args" is not supported']],
  ['an argument that is a map', 'mcpServers', { command: 'npx', args: [{ a: 1 }] }, ['"args" is not supported']],
  ['an environment that is a list', 'mcpServers', { command: 'npx', env: ['A=1'] }, ['"env" is not supported']],
  [
    'a variable that is nothing',
    'servers',
    { command: 'npx', env: { A: null, B: 'kept' } },
    ['"env.A" is not supported', 'B: kept'],
  ],
  [
    'a variable that is a map',
    'mcpServers',
    { command: 'npx', env: { A: { b: 1 }, B: 2 } },
    ['"env.A" is not supported', 'B: "2"'],
  ],
  [
    'a header that is nothing',
    'mcpServers',
    { url: URL, headers: { A: null, B: 'kept' } },
    ['"headers.A" is not supported', 'B: kept'],
  ],
  ['a working directory that is no text', 'mcpServers', { command: 'npx', cwd: 7 }, ['"cwd" is not supported']],
  ['a second address', 'mcpServers', { url: URL, serverUrl: `${URL}/2` }, [URL, '"serverUrl" is not supported']],
  ['a type for addresses', 'mcpServers', { type: 'sse', command: 'npx' }, ['"type" is sse']],
  ['a command beside a transport', 'mcpServers', { command: 'npx', transport: { type: 'stdio' } }, ['command: npx']],
  [
    'a transport beside a command that is a map',
    'context_servers',
    { command: { path: 'zed' }, transport: 'socket' },
    ['"transport" is not supported'],
  ],
  [
    'two environments of Zed',
    'context_servers',
    { command: { path: 'zed', env: { A: '1' } }, env: { B: '2' } },
    ['A: "1"', 'B: "2"'],
  ],
  [
    'an address within and beside a transport',
    'mcpServers',
    { url: `${URL}/2`, transport: { url: URL } },
    [URL, '"url" is not supported'],
  ],
]

describe('odd keys of a client are carried or named', () => {
  for (const [title, key, server, words] of ROWS)
    it(title, async () => {
      const all = await told(key, server)

      for (const word of words) assert.ok(all.includes(word), all)
    })
})
