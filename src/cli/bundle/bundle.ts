import { existsSync, readFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gatewayError, reasonOf } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { writeWhole } from '../../util/storage/files.ts'
import { ownPackage } from '../../util/version.ts'
import { checkProfile } from '../../gateway/check-tool-names.ts'
import { configFile } from '../config-file.ts'
import { loadSource } from '../load-source.ts'
import type { Terminal } from '../output/terminal.ts'
import type { BundleSettings } from './bundled.ts'
import { zipOf, type ZipEntry } from './zip.ts'
import { platformOf } from '../../util/platform.ts'
import type { Host } from '../host.ts'

/** The flags of `gateway bundle`. */
export interface BundleFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly profile?: string | undefined
  readonly name: string
  readonly output?: string | undefined
}

/** A bundle that was written. */
export interface Bundle {
  readonly file: string
  readonly config: string
  readonly manifest: JsonObject
  /** Bytes of the archive. */
  readonly size: number
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/
/** Built beside the command line: a file that needs no other. */
const SHIM = 'dist/src/cli/bundle/bundled.js'
/** Variables that programs are found by and that say where the state and sockets are: desktop applications have few. */
const PASSED =
  /^(PATH|LANG|XDG_(CONFIG|STATE|CACHE|DATA)_HOME|XDG_RUNTIME_DIR|(HTTPS?|NO|ALL)_PROXY|NODE_EXTRA_CA_CERTS)$/i
const INDEX = `import { runBundled } from './shim.mjs'

process.exit(await runBundled(process, new URL('./gateway.json', import.meta.url)))
`

/**
 * Writes a bundle that connects a desktop application to the gateway of a configuration, on this machine.
 * @throws GatewayError GW_USAGE, GW_CONFIG_NOT_FOUND, GW_CONFIG_UNREADABLE, GW_PROFILE_UNKNOWN
 */
export async function writeBundle(flags: BundleFlags, terminal: Terminal, host: Host): Promise<Bundle> {
  const { name, output = `${name}.mcpb` } = flags
  if (!NAME.test(name))
    throw gatewayError('GW_USAGE', { what: `--name is up to 64 of a-z, 0-9 and . _ -, not "${name}"` })
  const file = resolve(terminal.cwd, output)
  if (extname(file) !== '.mcpb') throw gatewayError('GW_USAGE', { what: `--output ends in .mcpb: ${output}` })
  const config = await configFile(flags, terminal)
  if (!existsSync(config))
    throw gatewayError('GW_CONFIG_UNREADABLE', { file: config, why: 'there is no such file' })
  if (flags.profile !== undefined) {
    const source = await loadSource({ config, env: flags.env }, terminal, 'leave')
    checkProfile(flags.profile, source.config)
  }
  const manifest = manifestOf(config, flags, terminal)
  const program = [host.execPath, resolve(terminal.cwd, String(host.argv[1]))] as const
  const bytes = zipOf(entriesOf(manifest, { program }))
  await writeWhole(file, bytes, rename).catch((error: unknown) => {
    throw gatewayError('GW_USAGE', { what: `${file} is not written: ${reasonOf(error)}` })
  })
  return { file, config, manifest, size: bytes.length }
}

function entriesOf(manifest: JsonObject, settings: BundleSettings): ZipEntry[] {
  const entry = (name: string, text: string): ZipEntry => ({ name, bytes: Buffer.from(text) })
  const json = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`
  return [
    entry('manifest.json', json(manifest)),
    entry('server/index.mjs', INDEX),
    entry('server/shim.mjs', readFileSync(shimFile(), 'utf8')),
    entry('server/gateway.json', json(settings)),
  ]
}

/** As the MCPB specification 0.4 has it. The application fills in `${…}`. */
function manifestOf(
  config: string,
  { name, env, profile }: BundleFlags,
  { environment }: Terminal,
): JsonObject {
  const { name: author, version } = ownPackage()
  const variables = passedOf(environment)
  const odd = [config, env, profile, ...Object.values(variables)].find(text => text?.includes('${'))
  if (odd !== undefined) throw gatewayError('GW_USAGE', { what: `an application would fill in "${odd}"` })
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
    description: `All MCP servers of ${basename(config)}, through the gateway of this machine`,
    long_description: [
      `Connects to the gateway that runs with ${config}, and starts it where none runs. Other applications on this machine`,
      'share the same servers. The bundle is for the machine that made it: it names files of it, and holds no secrets.',
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
    compatibility: { platforms: [platformOf().name], runtimes: { node: '>=20.16.0' } },
    user_config: {
      config: {
        type: 'file',
        title: 'Configuration',
        description: 'The gateway.yaml whose servers are offered.',
        default: config,
        required: true,
      },
    },
  }
}

/** Variables of this shell that a gateway started by an application needs; a proxy with a password is none of them. */
function passedOf(environment: Terminal['environment']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([variable, value]) =>
      value === undefined || value === '' || !PASSED.test(variable) || hasPassword(variable, value)
        ? []
        : [[variable, value]],
    ),
  )
}

function hasPassword(variable: string, value: string): boolean {
  return /_PROXY$/i.test(variable) && value.includes('@')
}

function shimFile(): string {
  const own = fileURLToPath(import.meta.url)
  return join(rootOf(dirname(own)), SHIM)
}

function rootOf(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : rootOf(dirname(directory))
}
