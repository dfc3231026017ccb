import { existsSync, readFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename, dirname, extname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crc32, deflateRawSync } from 'node:zlib'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import { checkProfile } from '../../gateway/check-tool-names.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { getPlatform } from '../../util/platform.ts'
import { writeFileAtomic } from '../../util/storage/files.ts'
import { readOwnPackage } from '../../util/version.ts'
import { findConfigFile, loadSource } from '../load-source.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { BundleSettings } from './desktop-relay.ts'

/** File in the archive. */
interface ZipEntry {
  /** Path in the archive, with `/`. */
  readonly name: string
  readonly bytes: Buffer
}

const LOCAL_HEADER = 0x04034b50
const CENTRAL_HEADER = 0x02014b50
const END_RECORD = 0x06054b50
const ZIP_VERSION = 20
/** UTF-8 names. */
const ZIP_FLAGS = 0x0800
const DEFLATED = 8
/** 1980-01-01, so that the archive is reproducible. */
const ZIP_DATE = 0x21
/** Regular file with mode 0644, created on Unix. */
const MADE_BY = (3 << 8) | ZIP_VERSION
const ATTRIBUTES = 0o100644 * 0x10000

/** Creates a ZIP archive as in PKWARE's APPNOTE: no 64-bit sizes, no encryption. */
function createZip(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const name = Buffer.from(entry.name)
    const packed = deflateRawSync(entry.bytes, { level: 9 })
    const shared = createZipHeader(entry.bytes, packed, name)
    const local = Buffer.concat([encodeUint32(LOCAL_HEADER), shared, encodeUint16(0), name, packed])
    files.push(local)
    const location = [
      encodeUint16(0),
      encodeUint16(0),
      encodeUint16(0),
      encodeUint16(0),
      encodeUint32(ATTRIBUTES),
      encodeUint32(offset),
    ]
    directory.push(Buffer.concat([encodeUint32(CENTRAL_HEADER), encodeUint16(MADE_BY), shared, ...location, name]))
    offset += local.length
  }
  const listed = Buffer.concat(directory)
  const count = encodeUint16(entries.length)
  const end = [
    encodeUint32(END_RECORD),
    encodeUint16(0),
    encodeUint16(0),
    count,
    count,
    encodeUint32(listed.length),
    encodeUint32(offset),
    encodeUint16(0),
  ]
  return Buffer.concat([...files, listed, ...end])
}

/** Header part that local file and central directory entries share. */
function createZipHeader(bytes: Buffer, packed: Buffer, name: Buffer): Buffer {
  return Buffer.concat([
    ...[
      encodeUint16(ZIP_VERSION),
      encodeUint16(ZIP_FLAGS),
      encodeUint16(DEFLATED),
      encodeUint16(0),
      encodeUint16(ZIP_DATE),
    ],
    ...[encodeUint32(crc32(bytes)), encodeUint32(packed.length), encodeUint32(bytes.length), encodeUint16(name.length)],
  ])
}

function encodeUint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function encodeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}

export interface BundleFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly profile?: string | undefined
  readonly name: string
  readonly output?: string | undefined
}

export interface WrittenBundle {
  readonly file: string
  readonly config: string
  readonly manifest: JsonObject
  /** Archive size in bytes. */
  readonly size: number
}

const BUNDLE_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/
/** Built as a single file without imports. */
const SHIM_PATH = 'dist/src/cli/bundle/desktop-relay.js'
/** Variables for finding programs, state and sockets; desktop applications have few. */
const PASSED_VARIABLES =
  /^(PATH|LANG|XDG_(CONFIG|STATE|CACHE|DATA)_HOME|XDG_RUNTIME_DIR|(HTTPS?|NO|ALL)_PROXY|NODE_EXTRA_CA_CERTS)$/i
const INDEX_SOURCE = `import { runBundled } from './shim.mjs'

process.exit(await runBundled(process, new URL('./gateway.json', import.meta.url)))
`

/**
 * Writes a bundle that connects a desktop application to a configuration's local gateway.
 * @throws GatewayError GW_USAGE, GW_CONFIG_NOT_FOUND, GW_CONFIG_UNREADABLE, GW_PROFILE_UNKNOWN
 */
export async function writeBundle(flags: BundleFlags, terminal: Terminal, host: Host): Promise<WrittenBundle> {
  const { name, output = `${name}.mcpb` } = flags
  if (!BUNDLE_NAME.test(name))
    throw gatewayError('GW_USAGE', {
      what: `--name must have 1 to 64 characters of a-z, 0-9 and . _ -, starting with a letter or digit: "${name}"`,
    })
  const file = resolve(terminal.cwd, output)
  if (extname(file) !== '.mcpb') throw gatewayError('GW_USAGE', { what: `--output must end in .mcpb: ${output}` })
  const config = await findConfigFile(flags, terminal)
  if (!existsSync(config)) throw gatewayError('GW_CONFIG_UNREADABLE', { file: config, why: 'no such file' })
  if (flags.profile !== undefined) {
    const source = await loadSource({ config, env: flags.env }, terminal, 'leave')
    checkProfile(flags.profile, source.config)
  }
  const manifest = createManifest(config, flags, terminal)
  const program = [host.execPath, resolve(terminal.cwd, String(host.argv[1]))] as const
  const bytes = createZip(createZipEntries(manifest, { program }))
  await writeFileAtomic(file, bytes, rename).catch((error: unknown) => {
    throw gatewayError('GW_USAGE', { what: `cannot write ${file}: ${getErrorMessage(error)}` })
  })
  return { file, config, manifest, size: bytes.length }
}

function createZipEntries(manifest: JsonObject, settings: BundleSettings): ZipEntry[] {
  const createEntry = (name: string, text: string): ZipEntry => ({ name, bytes: Buffer.from(text) })
  const formatJson = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`
  return [
    createEntry('manifest.json', formatJson(manifest)),
    createEntry('server/index.mjs', INDEX_SOURCE),
    createEntry('server/shim.mjs', readFileSync(findShimFile(), 'utf8')),
    createEntry('server/gateway.json', formatJson(settings)),
  ]
}

/** Creates a manifest for MCPB specification 0.4. The application expands `${…}`. */
function createManifest(config: string, { name, env, profile }: BundleFlags, { environment }: Terminal): JsonObject {
  const { name: author, version } = readOwnPackage()
  const variables = selectEnvironment(environment)
  const odd = [config, env, profile, ...Object.values(variables)].find(text => text?.includes('${'))
  if (odd !== undefined)
    throw gatewayError('GW_USAGE', {
      what: `"${odd}" contains a placeholder, which an application would expand`,
    })
  const args = [
    ...['${__dirname}/server/index.mjs', '--config', '${user_config.config}'],
    ...(env === undefined ? [] : ['--env', env]),
    ...(profile === undefined ? [] : ['--profile', profile]),
  ]
  return {
    manifest_version: '0.4',
    name,
    display_name: name === 'gateway' ? 'MCP gateway' : name,
    version,
    description: `All MCP servers of ${basename(config)}, through the gateway on this machine`,
    long_description: [
      `Connects to the gateway for ${config}, and starts it if it is not running. Other applications on this machine`,
      'share the same servers. The bundle only works on the machine that created it; it contains no secrets.',
    ].join('\n'),
    author: { name: author },
    server: {
      type: 'node',
      entry_point: 'server/index.mjs',
      mcp_config: { command: 'node', args, env: variables },
    },
    tools_generated: true,
    prompts_generated: true,
    keywords: ['gateway'],
    compatibility: { platforms: [getPlatform().name], runtimes: { node: '>=20.16.0' } },
    user_config: {
      config: {
        type: 'file',
        title: 'Configuration',
        description: 'The gateway.yaml to use.',
        default: config,
        required: true,
      },
    },
  }
}

/** Selects the variables that the started gateway needs, without proxies that contain a password. */
function selectEnvironment(environment: Terminal['environment']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([variable, value]) =>
      value === undefined || value === '' || !PASSED_VARIABLES.test(variable) || hasPassword(variable, value)
        ? []
        : [[variable, value]],
    ),
  )
}

function hasPassword(variable: string, value: string): boolean {
  return /_PROXY$/i.test(variable) && value.includes('@')
}

function findShimFile(): string {
  const own = fileURLToPath(import.meta.url)
  return join(findPackageRoot(dirname(own)), SHIM_PATH)
}

function findPackageRoot(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : findPackageRoot(dirname(directory))
}

export async function runBundle(
  flags: BundleFlags & { readonly json: boolean },
  terminal: Terminal,
  host: Host,
): Promise<void> {
  const { out, cwd } = terminal
  const bundle = await writeBundle(flags, terminal, host)
  if (flags.json) {
    out.json(bundle)
    return
  }
  const { file, config, size } = bundle
  const formatPath = (path: string): string => (relative(cwd, path).startsWith('..') ? path : relative(cwd, path))
  out.line(
    `${out.paint('green', 'wrote')} ${formatPath(file)} (${Math.ceil(size / 1024)} KB) for ${formatPath(config)}`,
  )
  out.line(`${out.paint('dim', 'next:')} open it in Claude Desktop on this machine`)
}
