import { createHash } from 'node:crypto'
import { readFile, rename } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { explainUnreadable } from '../config/source/read-text.ts'
import { gatewayError } from '../errors/errors.ts'
import { writeFileAtomic } from '../util/storage/files.ts'
import { resolveBackground } from './background/up.ts'
import type { Host, Terminal } from './output/terminal.ts'

export interface ServiceParameters {
  /** Service name: letters, digits and hyphens. */
  readonly name: string
  /** Node and launcher as absolute paths, then arguments. */
  readonly line: readonly string[]
  readonly directory: string
  /** Environment variables; a service inherits none from a shell. */
  readonly environment: Readonly<Record<string, string>>
  readonly log: string
}

/** Platform service manager. */
export interface ServiceKind {
  readonly platform: 'linux' | 'darwin' | 'win32'
  readonly title: string
  /** Variable that determines the service file path. */
  readonly home: string
  /** Returns the service file path; undefined if `home` is not set. */
  file(name: string, environment: Readonly<Record<string, string | undefined>>): string | undefined
  text(facts: ServiceParameters): string
  /** Service file encoding. */
  readonly encoding: 'utf8' | 'utf16le'
  /** Command lines that enable or disable the service. */
  enable(file: string, name: string): readonly string[]
  disable(file: string, name: string): readonly string[]
}

const RESTART_DELAY_S = 2

const systemd: ServiceKind = {
  platform: 'linux',
  title: 'systemd user unit',
  home: 'HOME',
  encoding: 'utf8',
  file(name, { XDG_CONFIG_HOME, HOME }) {
    const base = XDG_CONFIG_HOME?.startsWith('/') === true ? XDG_CONFIG_HOME : HOME && join(HOME, '.config')
    return base ? join(base, 'systemd', 'user', `${name}.service`) : undefined
  },
  text: ({ name, line, directory, environment }) =>
    [
      '# Created by "gateway service".',
      '[Unit]',
      `Description=tapgate, the MCP gateway (${name})`,
      'Documentation=https://modelcontextprotocol.io',
      'StartLimitIntervalSec=60',
      'StartLimitBurst=5',
      '',
      '[Service]',
      'Type=simple',
      `WorkingDirectory=${escapeUnitPath(directory)}`,
      ...Object.entries(environment).map(([key, value]) => `Environment=${quoteUnitWord(`${key}=${value}`)}`),
      `ExecStart=${line.map(quoteUnitWord).join(' ')}`,
      `ExecReload=/bin/kill -HUP $MAINPID`,
      'Restart=on-failure',
      `RestartSec=${RESTART_DELAY_S}`,
      '# The gateway stops its servers itself.',
      'KillMode=mixed',
      'TimeoutStopSec=90',
      'UMask=0077',
      '',
      '[Install]',
      'WantedBy=default.target',
      '',
    ].join('\n'),
  enable: (_, name) => ['systemctl --user daemon-reload', `systemctl --user enable --now ${name}.service`],
  disable: (_, name) => [`systemctl --user disable --now ${name}.service`],
}

/** Quotes a word of a unit file and escapes `%` and `$`. */
function quoteUnitWord(word: string): string {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
  return `"${escaped.replaceAll('%', '%%').replaceAll('$', '$$$$')}"`
}

/** Escapes a path that is a whole value, which is not quoted. */
function escapeUnitPath(path: string): string {
  return path.replaceAll('%', '%%')
}

const launchd: ServiceKind = {
  platform: 'darwin',
  title: 'launchd agent',
  home: 'HOME',
  encoding: 'utf8',
  file: (name, { HOME }) => (HOME ? join(HOME, 'Library', 'LaunchAgents', `${formatLabel(name)}.plist`) : undefined),
  text: ({ name, line, directory, environment, log }) =>
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
      '<plist version="1.0">',
      '<dict>',
      ...formatPlistEntry('Label', formatPlistString(formatLabel(name))),
      ...formatPlistEntry('ProgramArguments', [
        '<array>',
        ...line.map(argument => `  ${formatPlistString(argument)}`),
        '</array>',
      ]),
      ...formatPlistEntry('WorkingDirectory', formatPlistString(directory)),
      ...formatPlistEntry('EnvironmentVariables', [
        '<dict>',
        ...Object.entries(environment).flatMap(([key, value]) => formatPlistEntry(key, formatPlistString(value))),
        '</dict>',
      ]),
      ...formatPlistEntry('RunAtLoad', '<true/>'),
      ...formatPlistEntry('KeepAlive', ['<dict>', ...formatPlistEntry('SuccessfulExit', '<false/>'), '</dict>']),
      ...formatPlistEntry('ThrottleInterval', `<integer>${RESTART_DELAY_S * 5}</integer>`),
      ...formatPlistEntry('ExitTimeOut', '<integer>90</integer>'),
      ...formatPlistEntry('Umask', '<integer>63</integer>'),
      ...formatPlistEntry('StandardOutPath', formatPlistString(log)),
      ...formatPlistEntry('StandardErrorPath', formatPlistString(log)),
      '</dict>',
      '</plist>',
      '',
    ].join('\n'),
  enable: file => [`launchctl load -w "${file}"`],
  disable: file => [`launchctl unload -w "${file}"`],
}

function formatLabel(name: string): string {
  return `dev.tapgate.${name}`
}

function formatPlistEntry(key: string, value: string | readonly string[]): string[] {
  return [`<key>${escapeXml(key)}</key>`, ...[value].flat()].map(one => `  ${one}`)
}

function formatPlistString(value: string): string {
  return `<string>${escapeXml(value)}</string>`
}

/** Escapes XML and removes control characters. */
function escapeXml(value: string): string {
  // eslint-disable-next-line no-control-regex -- matches control characters
  const plain = value.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, '')
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const taskScheduler: ServiceKind = {
  platform: 'win32',
  title: 'Task Scheduler task',
  home: 'LOCALAPPDATA',
  // Required by the Task Scheduler.
  encoding: 'utf16le',
  file: (name, { LOCALAPPDATA }) => (LOCALAPPDATA ? join(LOCALAPPDATA, 'tapgate', `${name}.xml`) : undefined),
  text: ({ name, line: [program = '', ...args], directory }) =>
    [
      '<?xml version="1.0" encoding="UTF-16"?>',
      '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
      `  <RegistrationInfo><Description>tapgate, the MCP gateway (${escapeXml(name)})</Description></RegistrationInfo>`,
      '  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>',
      '  <Principals><Principal id="Author"><LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel></Principal></Principals>',
      '  <Settings>',
      '    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>',
      '    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>',
      '    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>',
      '    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>',
      '    <Hidden>true</Hidden>',
      '    <RestartOnFailure><Interval>PT1M</Interval><Count>5</Count></RestartOnFailure>',
      '  </Settings>',
      '  <Actions Context="Author"><Exec>',
      `    <Command>${escapeXml(program)}</Command>`,
      `    <Arguments>${escapeXml(args.map(quoteWindowsArgument).join(' '))}</Arguments>`,
      `    <WorkingDirectory>${escapeXml(directory)}</WorkingDirectory>`,
      '  </Exec></Actions>',
      '</Task>',
      '',
    ].join('\r\n'),
  enable: (file, name) => [`schtasks /Create /TN ${name} /XML "${file}" /F`, `schtasks /Run /TN ${name}`],
  disable: (_, name) => [`schtasks /End /TN ${name}`, `schtasks /Delete /TN ${name} /F`],
}

/** Quotes an argument for Windows. */
function quoteWindowsArgument(argument: string): string {
  if (/^[^\s"]+$/.test(argument)) return argument
  return `"${argument.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`
}

export const SERVICE_KINDS: readonly ServiceKind[] = [systemd, launchd, taskScheduler]

/** Writes the service file, and prints the commands that enable and remove the service. Returns the exit code. */
export async function runService(
  flags: ServiceFlags & { readonly json: boolean; readonly 'dry-run': boolean },
  terminal: Terminal,
  host: Host,
): Promise<number> {
  const { name, file, text, kind } = await resolveService(flags, terminal, host)
  const { out } = terminal
  const [enable, disable] = [kind.enable(file, name), kind.disable(file, name)]
  if (!flags['dry-run']) await writeServiceFile(file, text, kind.encoding)
  if (flags.json) out.json({ name, file, text, enable, disable })
  else if (flags['dry-run']) for (const line of [`# ${file}`, ...text.trimEnd().split(/\r?\n/)]) out.line(line)
  else {
    out.line(`${out.paint('green', 'wrote')} ${file} (${kind.title})`)
    for (const line of enable) out.line(`${out.paint('dim', 'enable:')} ${line}`)
    for (const line of disable) out.line(`${out.paint('dim', 'disable:')} ${line}`)
  }
  return 0
}

/** Replaces only this gateway's files. @throws GatewayError GW_FILE_EXISTS */
async function writeServiceFile(file: string, text: string, encoding: ServiceKind['encoding']): Promise<void> {
  const present = await readFile(file, encoding).catch(() => 'tapgate')
  if (!present.includes('tapgate')) throw gatewayError('GW_FILE_EXISTS', { file })
  await writeFileAtomic(file, Buffer.from(encoding === 'utf16le' ? `\uFEFF${text}` : text, encoding), rename)
}

interface ServiceFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly platform: string
}

interface Service {
  readonly name: string
  readonly kind: ServiceKind
  readonly file: string
  readonly text: string
}

/** Variables for programs, network access and memory limits; a service inherits none from a shell. */
const PASSED_VARIABLES =
  /^(PATH|HOME|LANG|XDG_(CONFIG|STATE|CACHE|DATA)_HOME|(HTTPS?|NO|ALL)_PROXY|NODE_EXTRA_CA_CERTS|MALLOC_\w+|GLIBC_TUNABLES)$/i

/**
 * Resolves the service of a configuration, installed or not.
 * @throws GatewayError GW_USAGE, GW_CONFIG_NOT_FOUND, GW_CONFIG_UNREADABLE
 */
export async function resolveService(flags: ServiceFlags, terminal: Terminal, host: Host): Promise<Service> {
  const { environment } = terminal
  const kind = SERVICE_KINDS.find(({ platform }) => platform === flags.platform)
  if (kind === undefined)
    throw gatewayError('GW_USAGE', {
      what: `services are not supported on ${flags.platform}; run "gateway up" at login`,
    })
  const { config, log } = await resolveBackground(flags, terminal)
  const why = explainUnreadable(config)
  if (why !== undefined) throw gatewayError('GW_CONFIG_UNREADABLE', { file: config, why })
  const key = createHash('sha256')
    .update(JSON.stringify([config, flags.env ?? '']))
    .digest('hex')
  const name = `tapgate-${key.slice(0, 8)}`
  const file = kind.file(name, environment)
  if (file === undefined)
    throw gatewayError('GW_USAGE', {
      what: `${kind.home} is not set, so there is no directory for ${kind.platform} services`,
    })
  const facts: ServiceParameters = {
    name,
    line: [
      ...[host.execPath, resolve(terminal.cwd, String(host.argv[1])), 'serve', '--as-background'],
      ...['--config', config, ...(flags.env === undefined ? [] : ['--env', flags.env])],
    ],
    directory: dirname(config),
    environment: Object.fromEntries(
      Object.entries(environment).flatMap(([variable, value]) =>
        value !== undefined && value !== '' && PASSED_VARIABLES.test(variable) ? [[variable, value]] : [],
      ),
    ),
    log,
  }
  return { name, kind, file, text: kind.text(facts) }
}
