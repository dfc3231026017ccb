import { join } from 'node:path'

/** Facts that a system needs to run the gateway of a configuration for a user. */
export interface ServiceParameters {
  /** Name of the service: letters, digits and hyphens. */
  readonly name: string
  /** Whole paths of program and launcher, then the arguments. */
  readonly line: readonly string[]
  readonly directory: string
  /** Variables that it gets; a service has none of a shell's. */
  readonly environment: Readonly<Record<string, string>>
  readonly log: string
}

/** One system's way to run a program for a user from login to logout. */
export interface ServiceKind {
  readonly platform: 'linux' | 'darwin' | 'win32'
  readonly title: string
  /** Variable that the place of the file depends on. */
  readonly home: string
  /** Advice for who hears a no of the system. */
  readonly refused: string
  /** The file that describes the service; undefined where this user has no place for it. */
  file(name: string, environment: Readonly<Record<string, string | undefined>>): string | undefined
  text(facts: ServiceParameters): string
  /** Encoding of that file. */
  readonly encoding: 'utf8' | 'utf16le'
  /** Programs that make the system take the file, or forget it; the first word is the program. */
  enable(file: string, name: string): readonly (readonly string[])[]
  disable(file: string, name: string): readonly (readonly string[])[]
  status(name: string): readonly string[]
}

/** Seconds until it is started again. */
const RESTART_DELAY_S = 2

const systemd: ServiceKind = {
  platform: 'linux',
  title: 'systemd user unit',
  home: 'HOME',
  refused:
    'it needs a session of systemd for you: log in as yourself, not by su or sudo; where this system runs none, as in a container, gateway up starts it until the next start of the machine',
  encoding: 'utf8',
  file(name, { XDG_CONFIG_HOME, HOME }) {
    const base = XDG_CONFIG_HOME?.startsWith('/') === true ? XDG_CONFIG_HOME : HOME && join(HOME, '.config')
    return base ? join(base, 'systemd', 'user', `${name}.service`) : undefined
  },
  text: ({ name, line, directory, environment }) =>
    [
      '# Made by "gateway service install".',
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
      '# The gateway ends its servers itself, and they have time for it.',
      'KillMode=mixed',
      'TimeoutStopSec=90',
      'UMask=0077',
      '',
      '[Install]',
      'WantedBy=default.target',
      '',
    ].join('\n'),
  enable: (_, name) => [
    ['systemctl', '--user', 'daemon-reload'],
    ['systemctl', '--user', 'enable', '--now', `${name}.service`],
  ],
  disable: (_, name) => [['systemctl', '--user', 'disable', '--now', `${name}.service`]],
  status: name => ['systemctl', '--user', 'is-active', `${name}.service`],
}

/** A word of a unit file: systemd fills in `%` and `$`, and reads escapes. */
function quoteUnitWord(word: string): string {
  const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
  return `"${escaped.replaceAll('%', '%%').replaceAll('$', '$$$$')}"`
}

/** A path that is all of a value: nothing is quoted there. */
function escapeUnitPath(path: string): string {
  return path.replaceAll('%', '%%')
}

const launchd: ServiceKind = {
  platform: 'darwin',
  title: 'launchd agent',
  home: 'HOME',
  refused: 'it needs your session on the desktop; gateway up starts it until you log out',
  encoding: 'utf8',
  file: (name, { HOME }) =>
    HOME ? join(HOME, 'Library', 'LaunchAgents', `${formatLabel(name)}.plist`) : undefined,
  text: ({ name, line, directory, environment, log }) =>
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
      '<plist version="1.0">',
      '<dict>',
      ...formatPlistEntry('Label', formatPlistString(formatLabel(name))),
      ...formatPlistEntry('ProgramArguments', [
        '<array>',
        ...line.map(word => `  ${formatPlistString(word)}`),
        '</array>',
      ]),
      ...formatPlistEntry('WorkingDirectory', formatPlistString(directory)),
      ...formatPlistEntry('EnvironmentVariables', [
        '<dict>',
        ...Object.entries(environment).flatMap(([key, value]) =>
          formatPlistEntry(key, formatPlistString(value)),
        ),
        '</dict>',
      ]),
      ...formatPlistEntry('RunAtLoad', '<true/>'),
      ...formatPlistEntry('KeepAlive', [
        '<dict>',
        ...formatPlistEntry('SuccessfulExit', '<false/>'),
        '</dict>',
      ]),
      ...formatPlistEntry('ThrottleInterval', `<integer>${RESTART_DELAY_S * 5}</integer>`),
      ...formatPlistEntry('ExitTimeOut', '<integer>90</integer>'),
      ...formatPlistEntry('Umask', '<integer>63</integer>'),
      ...formatPlistEntry('StandardOutPath', formatPlistString(log)),
      ...formatPlistEntry('StandardErrorPath', formatPlistString(log)),
      '</dict>',
      '</plist>',
      '',
    ].join('\n'),
  enable: file => [['launchctl', 'load', '-w', file]],
  disable: file => [['launchctl', 'unload', '-w', file]],
  status: name => ['launchctl', 'list', formatLabel(name)],
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

/** Text in XML, which has no control characters. */
function escapeXml(value: string): string {
  // eslint-disable-next-line no-control-regex -- they are what is looked for
  const plain = value.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, '')
  return plain
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

const taskScheduler: ServiceKind = {
  platform: 'win32',
  title: 'task of the Task Scheduler',
  home: 'LOCALAPPDATA',
  refused: 'it needs the right to make tasks; gateway up starts it until you log out',
  // The Task Scheduler takes no other one.
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
  enable: (file, name) => [
    ['schtasks', '/Create', '/TN', name, '/XML', file, '/F'],
    ['schtasks', '/Run', '/TN', name],
  ],
  disable: (_, name) => [
    ['schtasks', '/End', '/TN', name],
    ['schtasks', '/Delete', '/TN', name, '/F'],
  ],
  status: name => ['schtasks', '/Query', '/TN', name],
}

/** A word of a command line as Windows programs split it. */
function quoteWindowsArgument(word: string): string {
  if (/^[^\s"]+$/.test(word)) return word
  return `"${word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`
}

export const SERVICE_KINDS: readonly ServiceKind[] = [systemd, launchd, taskScheduler]
