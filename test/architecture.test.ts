import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { BUNDLED, FRAMEWORK } from '../scripts/bundled.ts'
import { findFolderRings, findRings } from './guard/graph.ts'
import { GLOBALS, HOMES, partOf, PARTS } from './guard/layers.ts'
import { readSources, ROOT } from './guard/sources.ts'
import { RETIRED, retiredIn } from './guard/words.ts'

const sources = readSources('src/**/*.ts', 'plugins/**/*.ts')

test('every file belongs to a part, and imports only what its part may', () => {
  const wrong = sources.flatMap(({ file, imports }) =>
    imports.filter(({ own, to }) => own && !mayImport(file, to)).map(({ to }) => `${file} imports ${to}`),
  )

  assert.deepEqual(wrong, [])
  assert.deepEqual(
    sources.map(({ file }) => file).filter(file => partOf(file) === undefined),
    [],
  )
})

test('a plugin of ours keeps to its own folder', () => {
  const folder = (file: string) => file.split('/')[1]
  const wrong = sources.flatMap(({ file, imports }) =>
    imports
      .filter(({ to }) => partOf(file) === 'plugins' && partOf(to) === 'plugins' && folder(file) !== folder(to))
      .map(({ to }) => `${file} imports ${to}`),
  )

  assert.deepEqual(wrong, [])
})

test('every vendor has one home', () => {
  const wrong = sources.flatMap(({ file, imports }) =>
    imports
      .filter(
        ({ own, typeOnly, to }) =>
          !own && !typeOnly && HOMES.some(({ vendor, homes }) => vendor.test(to) && !homes.test(file)),
      )
      .map(({ to }) => `${file} loads ${to}`),
  )

  assert.deepEqual(wrong, [])
})

test('what is imported at run time is a dependency, or bundled', () => {
  type Named = Record<string, string>
  const manifest = readJson('package.json') as { dependencies: Named; peerDependencies: Named }
  const dependencies = [
    ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
    ...BUNDLED,
    FRAMEWORK,
  ]
  // What the page is made of is built into one file, and is a part of the package.
  const loaded = sources.filter(({ file }) => partOf(file) !== 'page')
  const wrong = loaded.flatMap(({ file, imports }) =>
    imports
      .filter(
        ({ own, typeOnly, to }) =>
          !own && !typeOnly && !to.startsWith('node:') && !dependencies.includes(packageOf(to)),
      )
      .map(({ to }) => `${file} loads ${to}`),
  )

  assert.deepEqual(wrong, [])
})

test('no files import each other in a ring, for types and by import() neither', () => {
  assert.deepEqual(findRings(sources), [])
})

test('no folders that lie side by side import each other', () => {
  const inside = sources.filter(({ file }) => file !== 'src/plugin.ts')

  assert.deepEqual(findFolderRings(inside), [])
})

test('a folder has at most 30 files', () => {
  const counts = new Map<string, number>()
  for (const file of globSync('{src,plugins,test,scripts}/**/*.{ts,mjs}', { cwd: ROOT })) {
    if (/\.gen\.ts$/.test(file)) continue
    const folder = dirname(file.replaceAll('\\', '/'))
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }

  assert.deepEqual(
    [...counts].filter(([, count]) => count > 30).map(([folder, count]) => `${folder} has ${count}`),
    [],
  )
})

/** Servers and programs are started by the first; others ask Node where a plugin does not parse, open a browser, or run this program anew. */
const STARTERS: ReadonlySet<string> = new Set([
  'src/processes/launch.ts',
  'src/plugin-host/plugin-failure.ts',
  'src/cli/background/run-program.ts',
])

test('child processes are started where that belongs', () => {
  const files = sources.filter(({ imports }) =>
    imports.some(({ to, typeOnly }) => !typeOnly && /^(node:)?child_process$/.test(to)),
  )

  assert.deepEqual(
    files.map(({ file }) => file).filter(file => !STARTERS.has(file)),
    [],
  )
})

test('environment, working directory, arguments and stdout are touched only where they belong', () => {
  const wrong = sources.flatMap(({ file, accesses, imports }) => {
    const touched = [...accesses].filter(access =>
      GLOBALS.some(rule => rule.access.test(access) && !rule.homes.test(file)),
    )
    const loaded = imports.filter(({ to }) => /^(node:)?(process|console)$/.test(to)).map(({ to }) => to)
    return [...touched, ...loaded].map(what => `${file} uses ${what}`)
  })

  assert.deepEqual(wrong, [])
})

/** Tables are as long as what they list. */
const TABLES = /^src\/errors\/table[\w-]*\.ts$/

test('a file has at most 500 lines of code', () => {
  const long = sources
    .filter(({ file, lines }) => lines > 500 && !TABLES.test(file))
    .map(({ file, lines }) => `${file} has ${lines}`)

  assert.deepEqual(long, [])
})

test('a function has at most 60 lines of code', () => {
  const long = sources.flatMap(({ file, functions }) =>
    functions.filter(({ lines }) => lines > 60).map(({ name, line, lines }) => `${file}:${line} ${name} has ${lines}`),
  )

  assert.deepEqual(long, [])
})

test('no identifier has a word for which there is a standard one', () => {
  const found = sources.flatMap(({ file }) =>
    retiredIn(file).map(word => `${file}: ${word}, say ${RETIRED[word] ?? ''}`),
  )

  assert.deepEqual(found, [])
})

test('nothing has a default export', () => {
  const wrong = sources.filter(({ defaultExport }) => defaultExport)

  assert.deepEqual(
    wrong.map(({ file }) => file),
    [],
  )
})

test('no run-time dependency has an install script', () => {
  const scripted = shipped().filter(([, { hasInstallScript }]) => hasInstallScript === true)

  assert.deepEqual(
    scripted.map(([path]) => path),
    [],
  )
})

test('run-time dependencies have permissive licences', () => {
  const permissive =
    /^\(?(MIT|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|BlueOak-1\.0\.0|CC0-1\.0|PSF-2\.0|Python-2\.0|Unlicense)\b/
  const wrong = shipped().filter(([, { license }]) => !permissive.test(license ?? ''))

  assert.deepEqual(
    wrong.map(([path, { license }]) => `${path}: ${license ?? 'none'}`),
    [],
  )
})

test('the lock file names no registry host', () => {
  const addressed = Object.entries(locked()).filter(([, { resolved }]) => resolved !== undefined)

  assert.deepEqual(
    addressed.map(([path]) => path),
    [],
  )
})

function mayImport(from: string, to: string): boolean {
  const [part, target] = [partOf(from), partOf(to)]
  // package.json is data, not a part.
  if (target === undefined) return to === 'package.json'
  return part === target || PARTS.some(row => row.part === part && row.may.includes(target))
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

interface Locked {
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
  readonly license?: string
  readonly resolved?: string
  readonly hasInstallScript?: boolean
}

function locked(): Record<string, Locked> {
  return (readJson('package-lock.json') as { packages: Record<string, Locked> }).packages
}

/** All that a user of the published package gets: no tools, and none of the Nodes of this repository. */
function shipped(): [string, Locked][] {
  return Object.entries(locked()).filter(
    ([path, { dev, optional, devOptional }]) => path !== '' && !dev && !optional && !devOptional,
  )
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, file), 'utf8'))
}
