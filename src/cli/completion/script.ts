import type { Command } from '@oclif/core/command'
import { type CommandRow, commandTable, type FlagRow, nextWords, topics } from './command-table.ts'

const ACTIONS: Readonly<Record<FlagRow['takes'], string>> = {
  nothing: '',
  file: ':file:_files',
  directory: ':directory:_files -/',
  text: ':value: ',
}

const TAKES: Readonly<Record<FlagRow['takes'], string>> = {
  nothing: '',
  file: ' -r -F',
  directory: ` -x -a '(__fish_complete_directories)'`,
  text: ' -x',
}

type Generator = (bin: string, table: readonly CommandRow[]) => string

const GENERATORS: ReadonlyMap<string, Generator> = new Map(Object.entries({ bash, zsh, fish, powershell }))

/** The completion script of one shell. */
export function completionScript(
  shell: string,
  bin: string,
  commands: Readonly<Record<string, Command.Class>>,
): string {
  const generate = GENERATORS.get(shell)
  if (generate === undefined) throw new TypeError(`no completion for ${shell}`)
  return generate(bin, commandTable(commands)).trimEnd()
}

/** A script for `complete -F`; it runs on the bash 3.2 that macOS has. */
function bash(bin: string, table: readonly CommandRow[]): string {
  return `# bash completion for ${bin}
_${bin}() {
  local word previous command words i IFS=$' \\t\\n'
  word="\${COMP_WORDS[COMP_CWORD]}"
  previous="\${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
${commandLoop(table)}
${choiceCases(table)}
${valueCases(table)}
${wordCases(table)}
${upstreamCase(bin, table)}
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _${bin} ${bin}
`
}

/** Commands share names of flags, and not their values. */
function choiceCases(table: readonly CommandRow[]): string {
  const cases = choicesIn(table).map(({ command, names, values }) => {
    const patterns = names.map(name => `"${command} "*"${name}"`).join('|')
    return `    ${patterns}) COMPREPLY=($(compgen -W "${values.join(' ')}" -- "$word")); return ;;`
  })
  return `  case "$command $previous" in
${cases.join('\n')}
  esac`
}

/** The flags whose values are known, with their commands. */
function choicesIn(table: readonly CommandRow[]): (FlagRow & { readonly command: string })[] {
  return table.flatMap(({ name, flags }) =>
    flags.filter(({ values }) => values.length > 0).map(flag => ({ ...flag, command: name })),
  )
}

function valueCases(table: readonly CommandRow[]): string {
  const files = "compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=($(compgen"
  return `  case "$previous" in
    ${flagNames(table, 'file').join('|')}) ${files} -f -- "$word")); return ;;
    ${flagNames(table, 'directory').join('|')}) ${files} -d -- "$word")); return ;;
    ${flagNames(table, 'text').join('|')}) return ;;
  esac`
}

function commandLoop(table: readonly CommandRow[]): string {
  return `  command=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      --) compopt -o default 2>/dev/null; return ;;
      ${flagNames(table, 'file', 'directory', 'text').join('|')}) ((i++)) ;;
      -*) ;;
      *) command="\${command:+$command }\${COMP_WORDS[i]}" ;;
    esac
  done`
}

function wordCases(table: readonly CommandRow[]): string {
  const first = [...nextWords(table).map(({ word }) => word), '--help', '--version']
  const inner = topics(table).map(topic => ({
    pattern: `"${topic}"`,
    words: nextWords(table, topic).map(({ word }) => word),
  }))
  const commands = table.map(({ name, flags, values }) => ({
    pattern: `"${name}"|"${name} "*`,
    words: [...values, ...flags.flatMap(flag => flag.names.filter(one => one.startsWith('--')))],
  }))
  const cases = [{ pattern: '""', words: first }, ...inner, ...commands]
  return `  case "$command" in
${cases.map(({ pattern, words }) => `    ${pattern}) words="${words.join(' ')}" ;;`).join('\n')}
  esac`
}

/** Asked for only where a name is wanted: it starts a process. */
function upstreamCase(bin: string, table: readonly CommandRow[]): string {
  const commands = table.filter(row => row.takesUpstream).map(({ name }) => `"${name}"`)
  return `  case "$command" in
    ${commands.join('|')}) [[ "$word" == -* ]] || words="$words $(${bin} ps --quiet 2>/dev/null)" ;;
  esac`
}

function flagNames(table: readonly CommandRow[], ...takes: readonly FlagRow['takes'][]): string[] {
  const flags = table.flatMap(row => row.flags).filter(flag => takes.includes(flag.takes))
  return [...new Set(flags.flatMap(flag => flag.names))]
}

/** A script for fish's completions directory. */
function fish(bin: string, table: readonly CommandRow[]): string {
  const inner = topics(table).flatMap(topic =>
    wordLines(bin, nextWords(table, topic), seen(topic, nextWords(table, topic))),
  )
  return [
    `# fish completion for ${bin}`,
    `complete -c ${bin} -f`,
    ...wordLines(bin, nextWords(table), '__fish_use_subcommand'),
    ...inner,
    ...table.flatMap(row => commandLines(bin, row)),
    '',
  ].join('\n')
}

function wordLines(
  bin: string,
  words: readonly { word: string; summary: string }[],
  condition: string,
): string[] {
  return words.map(
    ({ word, summary }) => `complete -c ${bin} -n ${quoted(condition)} -a ${word} -d ${quoted(summary)}`,
  )
}

function commandLines(bin: string, { name, flags, values, takesUpstream }: CommandRow): string[] {
  const condition = name
    .split(' ')
    .map(word => `__fish_seen_subcommand_from ${word}`)
    .join('; and ')
  const start = `complete -c ${bin} -n ${quoted(condition)}`
  return [
    ...(values.length === 0 ? [] : [`${start} -a ${quoted(values.join(' '))}`]),
    ...(takesUpstream ? [`${start} -a '(${bin} ps --quiet 2>/dev/null)'`] : []),
    ...flags.map(flag => `${start} ${flagText(flag)} -d ${quoted(flag.summary)}`),
  ]
}

function flagText({ names, takes, values }: FlagRow): string {
  const options = names.map(name => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
  return options.join(' ') + TAKES[takes] + (values.length > 0 ? ` -a ${quoted(values.join(' '))}` : '')
}

function seen(topic: string, words: readonly { word: string }[]): string {
  return `__fish_seen_subcommand_from ${topic}; and not __fish_seen_subcommand_from ${words.map(({ word }) => word).join(' ')}`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

/** A script for a directory of `$fpath`. */
function zsh(bin: string, table: readonly CommandRow[]): string {
  return `#compdef ${bin}
# zsh completion for ${bin}
_${bin}() {
  local -a words_next
  local line state
  _arguments -C '(- *)'{-h,--help}'[Show help]' '(- *)'{-v,--version}'[Show the version]' '1: :->command' '*:: :->rest'
  case $state in
    command)
      words_next=(${described(nextWords(table))})
      _describe command words_next ;;
    rest)
      case $line[1] in
${topics(table)
  .map(topic => topicCase(topic, table))
  .join('\n')}
${table
  .filter(({ name }) => !name.includes(' '))
  .map(row => `        ${row.name}) ${argumentsOf(row, '        ')} ;;`)
  .join('\n')}
      esac ;;
  esac
}
compdef _${bin} ${bin}
`
}

function topicCase(topic: string, table: readonly CommandRow[]): string {
  const rows = table.filter(({ name }) => name.startsWith(`${topic} `))
  const cases = rows.map(
    row => `            ${row.name.slice(topic.length + 1)}) ${argumentsOf(row, '            ')} ;;`,
  )
  return `        ${topic})
          if (( CURRENT == 1 )); then
            words_next=(${described(nextWords(table, topic))})
            _describe command words_next
          else
            case $words[1] in
${cases.join('\n')}
            esac
          fi ;;`
}

function argumentsOf({ name, flags, values, takesUpstream }: CommandRow, indent: string): string {
  const known = values.length > 0 ? [`'1: :(${values.join(' ')})'`] : []
  const first = takesUpstream ? [`'1:upstream:($(gateway ps --quiet 2>/dev/null))'`] : known
  const rest = name === 'wrap' ? [`'*:::command: _normal'`] : []
  return ['_arguments', ...flags.flatMap(flagSpecs), ...first, ...rest].join(` \\\n${indent}  `)
}

function flagSpecs({ names, summary, takes, values }: FlagRow): string[] {
  const action = values.length > 0 ? `:value:(${values.join(' ')})` : ACTIONS[takes]
  return names.map(name => `'*${name}[${escaped(summary)}]${action}'`)
}

function described(words: readonly { word: string; summary: string }[]): string {
  return words.map(({ word, summary }) => `'${word}:${escaped(summary)}'`).join(' ')
}

function escaped(text: string): string {
  return text.replaceAll("'", "'\\''").replace(/[[\]:]/g, '\\$&')
}

/** A script for a PowerShell profile. */
function powershell(bin: string, table: readonly CommandRow[]): string {
  const files = table.flatMap(({ flags }) =>
    flags.filter(flag => flag.takes === 'file' || flag.takes === 'directory'),
  )
  const paths = [...new Set(files.flatMap(flag => flag.names))].map(inSingleQuotes).join(', ')
  const upstreams = table
    .filter(row => row.takesUpstream)
    .map(({ name }) => inSingleQuotes(name))
    .join(', ')
  return `# PowerShell completion for ${bin}
Register-ArgumentCompleter -Native -CommandName ${bin} -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $next = @{
    '' = @(${pairs([...nextWords(table), { word: '--help', summary: 'Show help' }, { word: '--version', summary: 'Show the version' }])})
${topics(table)
  .map(topic => `    ${inSingleQuotes(topic)} = @(${pairs(nextWords(table, topic))})`)
  .join('\n')}
${table.map(commandLine).join('\n')}
  }
  $values = @{
${choicesIn(table).flatMap(choiceLines).join('\n')}
  }
  $before = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  if ($before.Count -gt 0 -and @(${paths}) -ccontains $before[-1]) { return }
  $path = ''
  foreach ($word in $before) {
    $longer = "$path $word".Trim()
    if ($next.ContainsKey($longer)) { $path = $longer }
  }
  $found = $next[$path]
  $flag = "$path $($before | Select-Object -Last 1)"
  if ($values.ContainsKey($flag)) { $found = $values[$flag] }
  elseif (@(${upstreams}) -ccontains $path -and -not $wordToComplete.StartsWith('-')) {
    $found += @(& ${bin} ps --quiet 2>$null | ForEach-Object { ,@($_, $_) })
  }
  $found | Where-Object { $_[0] -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])
  }
}
`
}

function commandLine({ name, flags, values }: CommandRow): string {
  const words = values.map(word => ({ word, summary: word }))
  const options = flags.flatMap(flag =>
    flag.names.filter(one => one.startsWith('--')).map(word => ({ word, summary: flag.summary })),
  )
  return `    ${inSingleQuotes(name)} = @(${pairs([...words, ...options])})`
}

function choiceLines({ command, names, values }: FlagRow & { readonly command: string }): string[] {
  const words = pairs(values.map(word => ({ word, summary: word })))
  return names.map(name => `    ${inSingleQuotes(`${command} ${name}`)} = @(${words})`)
}

// A comma before a list keeps PowerShell from flattening it.
function pairs(words: readonly { word: string; summary: string }[]): string {
  return words
    .map(({ word, summary }) => `,@(${inSingleQuotes(word)}, ${inSingleQuotes(summary)})`)
    .join('; ')
}

function inSingleQuotes(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
