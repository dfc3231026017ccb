import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { atTerminal, noTerminal } from '../../fixtures/terminal.ts'
import { directory } from '../cli/run.ts'

const WHO = fileURLToPath(new URL('../../fixtures/servers/who-server.mjs', import.meta.url))
const who = { command: process.execPath, args: [WHO] }

/** A command, the question that it ends with, and what it says of a no. */
interface Question {
  readonly args: readonly string[]
  readonly asks: RegExp
  readonly says: RegExp
  /** Text that is typed at the questions before. */
  readonly before?: readonly (readonly [asks: RegExp, types: string])[]
  /** Files that it has written by then, on the word of its owner. */
  readonly written?: RegExp
}

const NOTHING = /nothing was written/

const QUESTIONS: Readonly<Record<string, Question>> = {
  add: {
    args: ['add', 'https://web.example/mcp', '--no-start'],
    asks: /Write this\? \[y\/N\] /,
    says: NOTHING,
  },
  remove: { args: ['remove', 'who'], asks: /Write this\? \[y\/N\] /, says: NOTHING },
  'connect with one client': {
    args: ['connect', 'cursor'],
    asks: /Write this\? \[y\/N\] /,
    says: NOTHING,
  },
  'connect with several': {
    args: ['connect', 'cursor', 'gemini'],
    asks: /Write these 2 files\? \[y\/N\] /,
    says: NOTHING,
  },
  'init, about the file': {
    args: ['init', '--output', 'other.yaml', '--no-start'],
    asks: /Write .*other\.yaml\? \[y\/N\]/,
    says: NOTHING,
  },
  'init, about clients': {
    args: ['init', '--output', 'other.yaml', '--no-start'],
    before: [
      [/Write .*other\.yaml\? \[y\/N\]/, 'y'],
      [/Remove these servers .*\[y\/N\]/, 'y'],
    ],
    asks: /Write these 2 files\? \[y\/N\]/,
    says: /no client was connected/,
    written: /^other\.yaml$/,
  },
}

/** Folders that commands keep for themselves. */
const OWN = ['state', '.cache', 'tapgate']

/** Every file below a directory, with what is in it. */
function filesIn(at: string): [string, string][] {
  return readdirSync(at, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter(file => !OWN.some(folder => file.startsWith(join(at, folder))))
    .sort()
    .map(file => [relative(at, file), readFileSync(file, 'utf8')])
}

for (const [what, { args, asks, says, before = [], written }] of Object.entries(QUESTIONS))
  test(`who says no to ${what}, or leaves, changes nothing, and it ends with 9`, { skip: noTerminal }, async t => {
    for (const key of ['n\r', '\u0004']) {
      const cwd = await directory(t, {
        'gateway.yaml': JSON.stringify({ version: 1, upstreams: { who: { type: 'stdio', ...who } } }),
        '.cursor/mcp.json': JSON.stringify({ mcpServers: { who } }),
        '.gemini/settings.json': JSON.stringify({ theme: 'dark' }),
      })
      const env = {
        HOME: cwd,
        XDG_STATE_HOME: join(cwd, 'state'),
        XDG_RUNTIME_DIR: cwd,
        XDG_CONFIG_HOME: '',
      }
      const all = filesIn(cwd)
      const screen = atTerminal(t, args, { cwd, env, columns: 200 })
      for (const [question, answer] of before) {
        await screen.shows(question)
        screen.type(answer)
      }
      await screen.shows(asks)
      screen.press(key)

      assert.equal(await screen.exit, 9, screen.shown())
      const left = filesIn(cwd).filter(([file]) => written?.test(file) !== true)
      assert.deepEqual(left, all)
      assert.match(screen.shown(), key === 'n\r' ? says : /nothing was (written|changed)|no client was connected/)
      assert.doesNotMatch(screen.shown(), /GW_INTERNAL| {4}at /)
    }
  })
