import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rename, unlink } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { gatewayError } from '../../errors/errors.ts'
import { findProgram } from '../../util/find-program.ts'
import { writeWhole } from '../../util/storage/files.ts'
import { failureOfProgram } from '../background/own-program.ts'
import { backgroundOf } from '../background/start.ts'
import type { Terminal } from '../output/terminal.ts'
import { SERVICE_KINDS, type ServiceFacts, type ServiceKind } from './definitions.ts'
import { foldersIn, platformOf } from '../../util/platform.ts'
import type { Host } from '../host.ts'

/** The flags of `gateway service`. */
export interface ServiceFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly platform: string
}

/** The service of one configuration. */
export interface Service {
  readonly name: string
  readonly kind: ServiceKind
  readonly file: string
  readonly text: string
}

/** Variables that programs are found and the network is reached by, and memory is given back; a service has none from a shell. */
const PASSED =
  /^(PATH|HOME|LANG|XDG_(CONFIG|STATE|CACHE|DATA)_HOME|(HTTPS?|NO|ALL)_PROXY|NODE_EXTRA_CA_CERTS|MALLOC_\w+|GLIBC_TUNABLES)$/i

/**
 * The service that runs the gateway of a configuration, written or not.
 * @throws GatewayError GW_USAGE, GW_CONFIG_NOT_FOUND
 */
export async function serviceOf(flags: ServiceFlags, terminal: Terminal, host: Host): Promise<Service> {
  const { environment } = terminal
  const kind = SERVICE_KINDS.find(({ platform }) => platform === flags.platform)
  if (kind === undefined)
    throw gatewayError('GW_USAGE', {
      what: `services of ${flags.platform} are not known; run "gateway up" at login`,
    })
  const { config, log } = await backgroundOf(flags, terminal)
  const key = createHash('sha256')
    .update(JSON.stringify([config, flags.env ?? '']))
    .digest('hex')
  const name = `tapgate-${key.slice(0, 8)}`
  const file = kind.file(name, environment)
  if (file === undefined)
    throw gatewayError('GW_USAGE', {
      what: `${kind.home} is not set, so there is no place for a service of ${kind.platform}`,
    })
  const facts: ServiceFacts = {
    name,
    line: [
      ...[host.execPath, resolve(terminal.cwd, String(host.argv[1])), 'serve', '--as-background'],
      ...['--config', config, ...(flags.env === undefined ? [] : ['--env', flags.env])],
    ],
    directory: dirname(config),
    environment: {
      ...Object.fromEntries(
        Object.entries(environment).flatMap(([variable, value]) =>
          value !== undefined && value !== '' && PASSED.test(variable) ? [[variable, value]] : [],
        ),
      ),
    },
    log,
  }
  return { name, kind, file, text: kind.text(facts) }
}

/** Outcome of one of the system's programs. */
export interface Ran {
  readonly line: string
  /** Reason why it failed; absent where it did not. */
  readonly why?: string
}

/** Writes the file, and has the system take it where it is this one. */
export async function install(
  { file, text, name, kind }: Service,
  terminal: Terminal,
): Promise<readonly Ran[]> {
  if (existsSync(file) && !(await isOurs(file, kind))) throw gatewayError('GW_FILE_EXISTS', { file })
  await writeWhole(
    file,
    Buffer.from(kind.encoding === 'utf16le' ? `\uFEFF${text}` : text, kind.encoding),
    rename,
  )
  return kind.platform === platformOf().name ? runAll(kind.enable(file, name), terminal) : []
}

/** Has the system forget the service, and removes its file. */
export async function uninstall(
  { file, name, kind }: Service,
  terminal: Terminal,
): Promise<{ readonly isGone: boolean; readonly ran: readonly Ran[] }> {
  if (!existsSync(file)) return { isGone: false, ran: [] }
  if (!(await isOurs(file, kind))) throw gatewayError('GW_FILE_EXISTS', { file })
  const ran = kind.platform === platformOf().name ? await runAll(kind.disable(file, name), terminal) : []
  await unlink(file)
  return { isGone: true, ran }
}

/** Whether the file is there, as it would be written now, and what the system says. */
export async function stateOf(
  { file, text, name, kind }: Service,
  terminal: Terminal,
): Promise<{ readonly isInstalled: boolean; readonly isCurrent: boolean; readonly isActive: boolean }> {
  const present = await readFile(file, kind.encoding).catch(() => undefined)
  if (present === undefined) return { isInstalled: false, isCurrent: false, isActive: false }
  const [asked] = kind.platform === platformOf().name ? await runAll([kind.status(name)], terminal) : []
  return {
    isInstalled: true,
    isCurrent: present.replace(/^\uFEFF/, '') === text,
    isActive: asked !== undefined && asked.why === undefined,
  }
}

/** Somebody's own file of that name stays. */
async function isOurs(file: string, { encoding }: ServiceKind): Promise<boolean> {
  return /tapgate/.test(await readFile(file, encoding).catch(() => ''))
}

/** Runs one after another until one fails. */
async function runAll(lines: readonly (readonly string[])[], terminal: Terminal): Promise<Ran[]> {
  const ran: Ran[] = []
  for (const [program = '', ...args] of lines) {
    const line = [program, ...args].join(' ')
    const why = await failureOf(program, args, terminal)
    ran.push({ line, ...(why === undefined ? {} : { why }) })
    if (why !== undefined) break
  }
  return ran
}

async function failureOf(
  program: string,
  args: readonly string[],
  { cwd, environment }: Terminal,
): Promise<string | undefined> {
  const path = findProgram(program, foldersIn(environment['PATH']), cwd)
  if (path === undefined) return `there is no ${basename(program)} here`
  return failureOfProgram(path, args)
}
