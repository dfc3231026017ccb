import { isAbsolute, relative } from 'node:path'
import type { CommandCall, CommandFinding } from '../../api/command.ts'
import type { Problem } from '../../config/problem.ts'
import { toOneLine } from '../../util/plain-text.ts'
import type { Terminal } from './terminal.ts'

type FormatFindings = (findings: readonly CommandFinding[], cwd: string) => string

const REPORTS: ReadonlyMap<unknown, FormatFindings> = new Map([
  ['sarif', formatSarif],
  ['github', formatGithub],
  ['junit', formatJunit],
])

/** Prints a value with --json, its findings with a --format for CI, else its lines. */
export function printReport(
  { json, format }: { readonly json?: boolean | undefined; readonly format?: unknown },
  { out, cwd }: Terminal,
  [value, lines, findings = () => []]: Parameters<CommandCall['print']>,
): void {
  const report = formatReport(format, findings, cwd)
  if (json === true || format === 'json') out.json(value)
  else if (report === undefined) for (const line of lines()) out.line(line)
  else if (report !== '') out.line(report)
}

/** Formats findings for CI; returns undefined for other formats. Paths become relative to `cwd`, as CI expects. */
export function formatReport(
  format: unknown,
  findings: () => readonly CommandFinding[],
  cwd: string,
): string | undefined {
  return REPORTS.get(format)?.(findings(), cwd)
}

/** Converts a configuration problem to a finding. */
export function createProblemFinding({ file, line, col, pointer, message, hint, severity }: Problem): CommandFinding {
  const text = hint === undefined ? message : `${message} – ${hint}`
  const position = { file, line, column: col }
  const rule = severity === 'error' ? 'config-invalid' : 'config-doubtful'
  return { rule, level: severity, message: pointer === '' ? text : `${pointer} ${text}`, ...position }
}

/** Static Analysis Results Interchange Format 2.1.0, as code scanning reads it. */
function formatSarif(findings: readonly CommandFinding[], cwd: string): string {
  const rules = [...new Set(findings.map(({ rule }) => rule))]
  const results = findings.map(({ rule, level, message, file, line, column }) => ({
    ruleId: rule,
    level,
    message: { text: message },
    ...(file === undefined
      ? {}
      : {
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: formatPath(file, cwd).split('/').map(encodeURIComponent).join('/') },
                ...(line === undefined ? {} : { region: { startLine: line, startColumn: column ?? 1 } }),
              },
            },
          ],
        }),
  }))
  const driver = { name: 'tapgate', rules: rules.map(id => ({ id })) }
  const run = { tool: { driver }, results }
  return JSON.stringify({ $schema: SARIF_SCHEMA, version: '2.1.0', runs: [run] }, undefined, 2)
}

const SARIF_SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json'

/** Workflow commands for GitHub Actions, which annotate lines in a pull request. */
function formatGithub(findings: readonly CommandFinding[], cwd: string): string {
  const rows = findings.map(({ rule, level, message, file, line, column }) => {
    const properties = {
      ...(file === undefined ? {} : { file: formatPath(file, cwd) }),
      ...(line === undefined ? {} : { line, col: column ?? 1 }),
      title: rule,
    }
    const list = Object.entries(properties).map(([key, value]) => `${key}=${encodeProperty(String(value))}`)
    return `::${level === 'note' ? 'notice' : level} ${list.join(',')}::${encodeCommand(message)}`
  })
  return rows.join('\n')
}

function encodeCommand(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function encodeProperty(text: string): string {
  return encodeCommand(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}

/** One test case per finding; errors are failures. A single passed one if there are none. */
function formatJunit(findings: readonly CommandFinding[], cwd: string): string {
  const cases = findings.map(({ rule, level, message, file, line }) => {
    const place = file === undefined ? [] : [`${formatPath(file, cwd)}${line === undefined ? '' : `:${line}`}`]
    const text = encodeXml(message)
    const result =
      level === 'error' ? `<failure type="error" message="${text}"/>` : `<system-out>${level}: ${text}</system-out>`
    return `  <testcase classname="${encodeXml(rule)}" name="${encodeXml([...place, message].join(' '))}">${result}</testcase>`
  })
  const rows = cases.length === 0 ? ['  <testcase classname="tapgate" name="no problems"/>'] : cases
  const failures = findings.filter(({ level }) => level === 'error').length
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="tapgate" tests="${rows.length}" failures="${failures}" errors="0" skipped="0">`,
    ...rows,
    '</testsuite>',
  ].join('\n')
}

/** Encodes text in one line. Control characters are invalid in XML 1.0, even as references. */
function encodeXml(text: string): string {
  const plain = toOneLine(text)
    .toWellFormed()
    .replaceAll(/[\ufffe\uffff]/g, '')
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

function formatPath(file: string, cwd: string): string {
  return (isAbsolute(file) ? relative(cwd, file) : file).replaceAll('\\', '/')
}
