// Bundles dist into few files, as each file loaded at startup costs a millisecond. `tsc` writes the types.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import commonjsPlugin, { type RollupCommonJSOptions } from '@rollup/plugin-commonjs'
import { rollup, type GetModuleInfo, type OutputChunk, type Plugin, type RollupOutput } from '@rollup/wasm-node'
import { BUNDLED, FRAMEWORK } from './bundled.ts'
import { stripTypes } from './strip-types.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const DIST = join(ROOT, 'dist')

/** Entry points; shared chunks keep error classes identical. */
const ENTRIES = ['src/index', 'src/plugin', 'src/testing/index', 'src/cli/main']

/** Standalone programs. */
const ALONE = ['src/cli/background/attach']

/** Packages in the page of plugins/ui. */
const OF_PAGE = ['htm', 'preact']

/**
 * Always loaded by `serve` and `validate`: their static imports form one file; everything else is split at
 * `import()`.
 */
const CORE = ['src/cli/serve/serve', 'src/cli/local/validate', 'src/gateway/gateway', 'src/config/load-config']

/** Builtins loaded at first use, as many starts do not need them. */
const SLOW = ['node:child_process', 'node:crypto', 'node:fs/promises', 'node:net', 'node:perf_hooks']

/** TypeScript is optional for the framework, and some file names are computed: both remain `require`. */
const COMMON_JS: RollupCommonJSOptions = {
  requireReturnsDefault: id => id.startsWith('\0builtin:') || 'preferred',
  ignoreDynamicRequires: true,
  ignore: ['typescript'],
}
const REQUIRE = "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url)"

// Its types declare the default export as a module.
const commonjs = commonjsPlugin as unknown as (options: RollupCommonJSOptions) => Plugin

let core: Set<string> | undefined
const bundle = await rollup({
  input: Object.fromEntries(ENTRIES.map(entry => [entry, join(ROOT, `${entry}.ts`)])),
  plugins: [sources(), builtins(), commonjs(COMMON_JS)],
  treeshake: { propertyReadSideEffects: false },
  // Packages may have import cycles; a test ensures that the sources have none.
  onwarn: ({ code, message }) => {
    if (code !== 'CIRCULAR_DEPENDENCY') console.warn(message)
  },
})
const { output } = await bundle.generate({
  format: 'es',
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name].js',
  banner: ({ moduleIds }) => (moduleIds.some(id => id.includes(`${FRAMEWORK}/`)) ? REQUIRE : ''),
  hoistTransitiveImports: false,
  minifyInternalExports: false,
  generatedCode: 'es2015',
  manualChunks: (id, { getModuleInfo }) => ((core ??= needed(CORE, getModuleInfo)).has(id) ? 'core' : undefined),
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

/** One minimal file per program, as many instances run concurrently. */
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

/** Modules loaded before any `import()`. */
function needed(roots: readonly string[], getModuleInfo: GetModuleInfo): Set<string> {
  const found = new Set<string>()
  const add = (id: string): void => {
    if (found.has(id)) return
    found.add(id)
    for (const next of getModuleInfo(id)?.importedIds ?? []) if (getModuleInfo(next)?.isExternal === false) add(next)
  }
  for (const root of roots) add(join(ROOT, `${root}.ts`))
  return found
}

/** Reads TypeScript like tsc. From package.json only name and version are included. */
function sources(): Plugin {
  return {
    name: 'sources',
    resolveId(id, importer) {
      if (isBuiltin(id) || id.startsWith('\0')) return null
      if (id.startsWith('.') || isAbsolute(id))
        return /\.(ts|json)$/.test(id) ? resolve(dirname(importer ?? ''), id) : resolvePackage(id, importer)
      return BUNDLED.includes(id) || id.startsWith(`${FRAMEWORK}/`)
        ? fileURLToPath(import.meta.resolve(id))
        : (resolvePackage(id, importer) ?? { id, external: true })
    },
    load: id => (id.endsWith('.json') ? `export default ${dataOf(id)}` : null),
    transform: (code, id) =>
      /^[^\0].*\.([cm]?js|ts)$/.test(id) ? { code: untracked(stripTypes(code, id)), map: null } : null,
  }
}

/** Resolves `require` in bundled packages; null for source files. */
function resolvePackage(id: string, importer = ''): string | null {
  const from = importer.replace(/^\0/, '').replace(/\?.*/, '')
  return from.includes('node_modules') ? createRequire(from).resolve(id) : null
}

/**
 * Rollup misses calls through `const { name } = await import(…)` and may fold parameters. A comma expression makes it
 * preserve all exports.
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

/** A static import of a builtin evaluates all its exports, such as WebSocket in node:http, which takes 20 ms. */
function builtins(): Plugin {
  return {
    name: 'builtins',
    // One per importer, so that no shared file is loaded.
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
    // Accessors load modules lazily.
    ...named.map(([key, { get, value }]) =>
      get !== undefined
        ? `export const ${key} = /* @__PURE__ */ (() => ${all}.${key})()`
        : SLOW.includes(name) && /^[a-z]/.test(key) && typeof value === 'function'
          ? `let $${key}\nexport const ${key} = (...given) => ($${key} ??= ${all}.${key})(...given)`
          : `export const ${key} = all.${key}`,
    ),
  ].join('\n')
}

/** A single non-ASCII character doubles the memory of a file and slows parsing. */
function inAscii(code: string): string {
  return code.replaceAll(/[^\0-\x7f]/g, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Removes output of earlier builds. */
function removeOthers(made: ReadonlySet<string>): void {
  for (const file of globSync('**/*.{js,js.map}', { cwd: DIST }))
    if (!made.has(file.replaceAll('\\', '/'))) rmSync(join(DIST, file))
}

/** Licenses of bundled packages. */
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
  if (file === undefined) throw new Error(`${relative(ROOT, directory)} has no license file`)
  return `${name} ${version}\n\n${readFileSync(join(directory, file), 'utf8')}`
}
