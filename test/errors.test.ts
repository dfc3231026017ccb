import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { errorsReference } from '../scripts/errors-reference.ts'
import { EXIT_CODES, getExitCode } from '../src/errors/table.ts'
import { mergeErrorTables } from '../src/gateway/builtins.ts'
import { RPC } from '../src/protocol/rpc-error.ts'
import { thrownErrors } from './guard/thrown.ts'
import { ROOT } from './guard/sources.ts'

const files = globSync(['src/**/*.ts', 'plugins/**/*.ts'], { cwd: ROOT }).filter(file => !/\.gen\./.test(file))
const texts = new Map(files.map(file => [file.replaceAll('\\', '/'), readFileSync(join(ROOT, file), 'utf8')]))
const codes: readonly string[] = Object.keys(mergeErrorTables())
const rows = Object.entries<{ text: string; hint: string; exit?: number; http?: number; rpc?: number }>(
  mergeErrorTables(),
)

test('the reference of errors is what the table says', () => {
  const present = readFileSync(join(ROOT, 'docs/reference/errors.md'), 'utf8')

  assert.equal(present, errorsReference(), 'stale – run npm run gen')
})

test('every code is used', () => {
  const used = new Set(
    [...texts].filter(([file]) => !/^src\/errors\/table|\/errors\.ts$/.test(file)).flatMap(([, text]) => codesIn(text)),
  )

  assert.deepEqual(
    codes.filter(code => !used.has(code)),
    [],
  )
})

test('every code that sources and documents name is in the table', () => {
  const documents = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.{md,ts}'], { cwd: ROOT })
  const named = [...texts.values(), ...documents.map(file => readFileSync(join(ROOT, file), 'utf8'))].flatMap(codesIn)

  assert.deepEqual(
    named.filter(code => !codes.includes(code)),
    [],
  )
})

test('every error is thrown with the fields that its text and hint need', () => {
  const wrong = thrownErrors(texts).flatMap(({ code, at, fields }) => {
    const row = rows.find(([name]) => name === code)?.[1]
    const needed = `${row?.text ?? ''} ${row?.hint ?? ''}`.match(/(?<=\{)\w+(?=\})/g) ?? []
    return needed.filter(field => !fields.has(field)).map(field => `${at} ${code} lacks ${field}`)
  })

  assert.deepEqual(wrong, [])
})

test('text and hint are there, and the hint is a sentence', () => {
  const wrong = rows.filter(([, { text, hint }]) => text === '' || !/^\S.*[.]$/.test(hint)).map(([code]) => code)

  assert.deepEqual(wrong, [])
})

test('each error has an exit code of the table, and tells somebody', () => {
  const wrong = rows.filter(
    ([, { exit, http, rpc }]) =>
      EXIT_CODES[getExitCode({ exit, http })] === undefined ||
      (http !== undefined && (http < 400 || http > 599)) ||
      (exit ?? http ?? rpc) === undefined,
  )

  assert.deepEqual(
    wrong.map(([code]) => code),
    [],
  )
})

test('exit codes that help and manual name are in the table, each with one meaning', () => {
  const manual = globSync('docs/*.md', { cwd: ROOT }).map(file => readFileSync(join(ROOT, file), 'utf8'))
  const lists = [...texts.values(), ...manual].flatMap(text => text.match(/Exit codes: 0 [^.|`]*/g) ?? [])
  const named = lists.flatMap(list => [...list.matchAll(/(?<=^Exit codes: |, )\d+/g)].map(([code]) => Number(code)))

  assert.ok(named.length > 20)
  assert.deepEqual(
    named.filter(code => EXIT_CODES[code] === undefined || code === 1),
    [],
  )
  assert.equal(new Set(Object.values(EXIT_CODES)).size, Object.keys(EXIT_CODES).length)
})

test('JSON-RPC codes are those of the protocol, or outside its range', () => {
  const ofProtocol: readonly number[] = Object.values(RPC)
  const wrong = rows.filter(
    ([, { rpc }]) => rpc !== undefined && !ofProtocol.includes(rpc) && rpc <= -32000 && rpc >= -32768,
  )

  assert.deepEqual(
    wrong.map(([code]) => code),
    [],
  )
})

test('only the protocol folder names codes of the reserved range', () => {
  const wrong = [...texts].filter(([file, text]) => !file.startsWith('src/protocol/') && /-320\d\d\b/.test(text))

  assert.deepEqual(
    wrong.map(([file]) => file),
    [],
  )
})

function codesIn(text: string): string[] {
  return text.match(/\bGW_[A-Z]+(?:_[A-Z]+)*\b/g) ?? []
}
