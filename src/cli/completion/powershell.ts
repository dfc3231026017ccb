import { nextWords, topics } from './command-table.ts'
import type { CommandRow } from './command-table.ts'

/** A script for a PowerShell profile. */
export function powershell(bin: string, table: readonly CommandRow[]): string {
  const files = table.flatMap(({ flags }) =>
    flags.filter(flag => flag.takes === 'file' || flag.takes === 'directory'),
  )
  const paths = [...new Set(files.flatMap(flag => flag.names))].map(quoted).join(', ')
  const upstreams = table
    .filter(row => row.takesUpstream)
    .map(({ name }) => quoted(name))
    .join(', ')
  return `# PowerShell completion for ${bin}
Register-ArgumentCompleter -Native -CommandName ${bin} -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $next = @{
    '' = @(${pairs([...nextWords(table), { word: '--help', summary: 'Show help' }, { word: '--version', summary: 'Show the version' }])})
${topics(table)
  .map(topic => `    ${quoted(topic)} = @(${pairs(nextWords(table, topic))})`)
  .join('\n')}
${table.map(commandLine).join('\n')}
  }
  $before = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  if ($before.Count -gt 0 -and @(${paths}) -ccontains $before[-1]) { return }
  $path = ''
  foreach ($word in $before) {
    $longer = "$path $word".Trim()
    if ($next.ContainsKey($longer)) { $path = $longer }
  }
  $found = $next[$path]
  if (@(${upstreams}) -ccontains $path -and -not $wordToComplete.StartsWith('-')) {
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
  return `    ${quoted(name)} = @(${pairs([...words, ...options])})`
}

// A comma before a list keeps PowerShell from flattening it.
function pairs(words: readonly { word: string; summary: string }[]): string {
  return words.map(({ word, summary }) => `,@(${quoted(word)}, ${quoted(summary)})`).join('; ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
