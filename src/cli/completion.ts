import type { Command, CommandMap } from './command.ts'
import type { Terminal } from './output/terminal.ts'

/** Hidden command that the shell scripts call: `gateway __complete -- <words>`. */
export const COMPLETE_COMMAND = '__complete'

/** Completion scripts by shell. Without candidates the shell completes file names. */
export const COMPLETION_SCRIPTS = {
  bash: `_gateway() {
  local IFS=$'\\n'
  COMPREPLY=($(gateway ${COMPLETE_COMMAND} -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _gateway gateway`,
  zsh: `#compdef gateway
_gateway() {
  local -a found
  found=(\${(f)"$(gateway ${COMPLETE_COMMAND} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -a found; else _files; fi
}
compdef _gateway gateway`,
  fish: `function __gateway_complete
  set -l words (commandline -opc)
  gateway ${COMPLETE_COMMAND} -- $words[2..] (commandline -ct | string collect --allow-empty) 2>/dev/null
end
complete -c gateway -a '(__gateway_complete)'`,
  powershell: `Register-ArgumentCompleter -Native -CommandName gateway -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $before = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  & gateway ${COMPLETE_COMMAND} -- @before "$wordToComplete" | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_) }
}`,
} as const

/** Prints completions for the last word, one per line. */
export async function printCompletions(
  words: readonly string[],
  commands: CommandMap,
  terminal: Terminal,
): Promise<number> {
  const last = words.at(-1) ?? ''
  const candidates = await listCandidates(words.slice(0, -1), last, commands, terminal)
  for (const candidate of new Set(candidates)) if (candidate.startsWith(last)) terminal.out.line(candidate)
  return 0
}

async function listCandidates(
  before: readonly string[],
  last: string,
  commands: CommandMap,
  terminal: Terminal,
): Promise<readonly string[]> {
  if (before.includes('--')) return []
  const names = Object.keys(commands).map(id => id.split(':'))
  const name = names.find(parts => parts.every((part, i) => part === before[i]))
  const command = commands[name?.join(':') ?? '']
  if (before.length === 0) return [...listNextWords(names, before), '--help', '--version']
  if (command === undefined) return listNextWords(names, before)
  const values = listFlagValues(command, before.at(-1) ?? '')
  if (values !== undefined) return values
  if (last.startsWith('-')) return listFlagNames(command)
  return before[0] === 'help' ? listNextWords(names, before.slice(1)) : listArguments(command, terminal)
}

/** Lists flag values; undefined if the previous word is not a flag with a value. */
function listFlagValues({ flags }: Command, previous: string): readonly string[] | undefined {
  for (const [name, flag] of Object.entries(flags))
    if (flag.type === 'option' && [`--${name}`, `-${flag.char}`].includes(previous)) return flag.options ?? []
  return undefined
}

function listFlagNames({ flags }: Command): string[] {
  const visibleFlags = Object.entries(flags).filter(([, { hidden }]) => hidden !== true)
  return [...visibleFlags.map(([name]) => `--${name}`), '--help']
}

function listArguments(command: Command, terminal: Terminal): readonly string[] | Promise<readonly string[]> {
  const [first] = Object.entries(command.args)
  return first?.[0] === 'upstream' ? listRunningUpstreams(terminal) : (first?.[1].options ?? listFlagNames(command))
}

function listNextWords(names: readonly string[][], before: readonly string[]): string[] {
  return names.flatMap(parts => (before.every((word, i) => word === parts[i]) ? (parts[before.length] ?? []) : []))
}

async function listRunningUpstreams(terminal: Terminal): Promise<string[]> {
  const { requestPs } = await import('./remote/control-requests.ts')
  const state = await requestPs({}, terminal).catch(() => undefined)
  return state?.upstreams.map(({ name }) => name) ?? []
}
