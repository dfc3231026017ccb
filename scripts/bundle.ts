// Writes dist: few files, because each one that a start must load costs it a millisecond. `tsc` writes the types beside them.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import commonjsPlugin, { type RollupCommonJSOptions } from '@rollup/plugin-commonjs'
import {
  rollup,
  type GetModuleInfo,
  type OutputChunk,
  type Plugin,
  type RollupOutput,
} from '@rollup/wasm-node'
import { stripTypes } from './strip-types.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const DIST = join(ROOT, 'dist')

/** All that is imported or run by name: all share the chunks, so an error is of the same class to each of them. */
const ENTRIES = ['src/index', 'src/plugin', 'src/testing/index', 'src/cli/main', 'src/cli/commands']

/** Programs that stand alone. */
const ALONE = ['src/cli/background/attach', 'src/cli/bundle/bundled']

/** Packages that every start needs. All others stay packages, loaded by those who need them. */
const BUNDLED = ['eventsource-parser', 'fastest-levenshtein', 'tapable', 'yaml']

/** The command line's framework: one file instead of a hundred, which saves 60 ms of every start. */
const FRAMEWORK = '@oclif/core/'

/** Packages that are built into the page of plugins/ui. */
const OF_PAGE = ['htm', 'preact']

/** All that `serve` and `validate` always load: all that these import without an `import()` is one file, all else splits where the sources say `import()`. */
const CORE = [
  'src/cli/serve/serve',
  'src/cli/local/validate',
  'src/gateway/gateway',
  'src/config/load-config',
]

/** Builtins that are loaded by the first call of one of their functions, as many starts make none. */
const SLOW = ['node:child_process', 'node:crypto', 'node:fs/promises', 'node:net', 'node:perf_hooks']

/** TypeScript is optional for the framework, and it requires some files by names that it computes: both stay `require`. */
const COMMON_JS: RollupCommonJSOptions = {
  requireReturnsDefault: id => id.startsWith('\0builtin:') || 'preferred',
  ignoreDynamicRequires: true,
  ignore: ['typescript'],
}
const REQUIRE = "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url)"

// Its types say that its default export is a module.
const commonjs = commonjsPlugin as unknown as (options: RollupCommonJSOptions) => Plugin

let core: Set<string> | undefined
const bundle = await rollup({
  input: Object.fromEntries(ENTRIES.map(entry => [entry, join(ROOT, `${entry}.ts`)])),
  plugins: [sources(), builtins(), commonjs(COMMON_JS)],
  treeshake: { propertyReadSideEffects: false },
  // Packages may have rings in them; ours have none, as a test says.
  onwarn: ({ code, message }) => {
    if (code !== 'CIRCULAR_DEPENDENCY') console.warn(message)
  },
})
const { output } = await bundle.generate({
  format: 'es',
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name].js',
  banner: ({ moduleIds }) => (moduleIds.some(id => id.includes(FRAMEWORK)) ? REQUIRE : ''),
  hoistTransitiveImports: false,
  minifyInternalExports: false,
  generatedCode: 'es2015',
  manualChunks: (id, { getModuleInfo }) =>
    (core ??= needed(CORE, getModuleInfo)).has(id) ? 'core' : undefined,
})
await bundle.close()
const chunks = [...output, ...(await alone())].filter(file => file.type === 'chunk')
for (const { fileName, code } of chunks) {
  const file = join(DIST, fileName)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, inAscii(code))
}
removeOthers(new Set(chunks.map(({ fileName }) => fileName)))
writeFileSync(join(DIST, 'LICENSES.txt'), licensesOf(chunks))

/** Programs of which many run at once: each is one file with no more than it needs, though others have the same. */
async function alone(): Promise<RollupOutput['output'][number][]> {
  const made: RollupOutput['output'][number][] = []
  for (const entry of ALONE) {
    const program = await rollup({
      input: { [entry]: join(ROOT, `${entry}.ts`) },
      plugins: [sources(), builtins(), commonjs(COMMON_JS)],
      treeshake: { propertyReadSideEffects: false, moduleSideEffects: false },
      preserveEntrySignatures: 'allow-extension',
    })
    const { output } = await program.generate({
      format: 'es',
      entryFileNames: '[name].js',
      generatedCode: 'es2015',
      inlineDynamicImports: true,
    })
    made.push(...output)
    await program.close()
  }
  return made
}

/** The modules that these load before any `import()`. */
function needed(roots: readonly string[], getModuleInfo: GetModuleInfo): Set<string> {
  const found = new Set<string>()
  const add = (id: string): void => {
    if (found.has(id)) return
    found.add(id)
    for (const next of getModuleInfo(id)?.importedIds ?? [])
      if (getModuleInfo(next)?.isExternal === false) add(next)
  }
  for (const root of roots) add(join(ROOT, `${root}.ts`))
  return found
}

/** TypeScript as tsc reads it. Of package.json only our name and version become a part of what is built. */
function sources(): Plugin {
  return {
    name: 'sources',
    resolveId(id, importer) {
      if (isBuiltin(id) || id.startsWith('\0')) return null
      if (id.startsWith('.') || isAbsolute(id))
        return /\.(ts|json)$/.test(id) ? resolve(dirname(importer ?? ''), id) : resolvePackage(id, importer)
      return BUNDLED.includes(id) || id.startsWith(FRAMEWORK)
        ? fileURLToPath(import.meta.resolve(id))
        : (resolvePackage(id, importer) ?? { id, external: true })
    },
    load: id => (id.endsWith('.json') ? `export default ${dataOf(id)}` : null),
    transform: (code, id) =>
      /^[^\0].*\.([cm]?js|ts)$/.test(id) ? { code: untracked(stripTypes(code, id)), map: null } : null,
  }
}

/** Resolves what a bundled package requires; null if the importer is one of our own files. */
function resolvePackage(id: string, importer = ''): string | null {
  const from = importer.replace(/^\0/, '').replace(/\?.*/, '')
  return from.includes('node_modules') ? createRequire(from).resolve(id) : null
}

/**
 * Rollup misses the calls of functions that come by `const { name } = await import(…)`: if all other calls pass the same
 * literal, it folds the parameter into the function. In a comma expression it leaves all exports as they are.
 */
function untracked(code: string): string {
  return code.replaceAll(/await import\(([^()]+)\)/g, 'await (0, import($1))')
}

function dataOf(file: string): string {
  const isManifest = basename(file) === 'package.json'
  return isManifest ? JSON.stringify(named(file)) : readFileSync(file, 'utf8')
}

function named(file: string): Named {
  const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as Named
  return { name, version }
}

interface Named {
  readonly name: string
  readonly version: string
}

/**
 * A static import of a builtin makes Node read everything that it exports, and behind some of that, such as the
 * WebSocket of node:http, is a module of its own that takes 20 ms to load.
 */
function builtins(): Plugin {
  return {
    name: 'builtins',
    // For each importer one, so that no file is loaded for what two others share.
    resolveId(id, importer = '') {
      if (!isBuiltin(id)) return null
      const from = relative(ROOT, importer.replace(/^\0/, '')).replace(/\?.*/, '')
      return { id: `\0builtin:${id}:${from}`, moduleSideEffects: false }
    },
    load(id) {
      const name = /^\0builtin:((?:node:)?[^:]+)/.exec(id)?.[1]
      return name === undefined ? null : exportsOf(name)
    },
  }
}

function exportsOf(name: string): string {
  const all = `process.getBuiltinModule(${JSON.stringify(name)})`
  const members = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(name) as object))
  const named = members.filter(([key]) => /^[a-z]\w*$/i.test(key) && key !== 'default')
  return [
    `const all = /* @__PURE__ */ ${all}`,
    'export default all',
    // An accessor loads what is behind it: only a file that imports it reads it.
    ...named.map(([key, { get, value }]) =>
      get !== undefined
        ? `export const ${key} = /* @__PURE__ */ (() => ${all}.${key})()`
        : SLOW.includes(name) && /^[a-z]/.test(key) && typeof value === 'function'
          ? `let $${key}\nexport const ${key} = (...given) => ($${key} ??= ${all}.${key})(...given)`
          : `export const ${key} = all.${key}`,
    ),
  ].join('\n')
}

/** One letter beyond ASCII, if only in a comment, and the whole file takes twice the memory and longer to read. */
function inAscii(code: string): string {
  return code.replaceAll(/[^\0-\x7f]/g, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** All that an earlier build has left. */
function removeOthers(made: ReadonlySet<string>): void {
  for (const file of globSync('**/*.{js,js.map}', { cwd: DIST }))
    if (!made.has(file.replaceAll('\\', '/'))) rmSync(join(DIST, file))
}

/** Those of the packages whose code is in the chunks. */
function licensesOf(chunks: readonly OutputChunk[]): string {
  const directories = chunks.flatMap(({ moduleIds }) =>
    moduleIds.map(id => /^[^\0].*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll('\\', '/'))?.[0]),
  )
  const ofPage = OF_PAGE.map(name => join(ROOT, 'node_modules', name))
  const all = new Set([...directories.filter(directory => directory !== undefined), ...ofPage])
  return [...all].sort().map(licenseOf).join('\n')
}

function licenseOf(directory: string): string {
  const { name, version } = named(join(directory, 'package.json'))
  const [file] = globSync('{LICENSE,LICENCE,License,license}*', { cwd: directory })
  if (file === undefined) throw new Error(`${relative(ROOT, directory)} has no license to hand on`)
  return `${name} ${version}\n\n${readFileSync(join(directory, file), 'utf8')}`
}
