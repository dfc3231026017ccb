import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ProgramSearchDeps, findProgram, findNodeScript } from '../../../src/util/find-program.ts'
import {
  getSocketFolder,
  splitPath,
  getSocketAddress,
  getPlatform,
  resolveSocketAddress,
} from '../../../src/util/platform.ts'

const [linux, mac, windows] = [getPlatform('linux'), getPlatform('darwin'), getPlatform('win32')]
const NPX = [
  '@ECHO OFF',
  'SETLOCAL',
  'SET "NODE_EXE=%~dp0\\node.exe"',
  'SET "NPM_PREFIX_JS=%~dp0\\node_modules\\npm\\bin\\npm-prefix.js"',
  'SET "NPX_CLI_JS=%~dp0\\node_modules\\npm\\bin\\npx-cli.js"',
  '"%NODE_EXE%" "%NPX_CLI_JS%" %*',
].join('\r\n')
const SHIM = [
  'CALL :find_dp0',
  'IF EXIST "%dp0%\\node.exe" (SET "_prog=%dp0%\\node.exe") ELSE (SET "_prog=node")',
  'endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "%_prog%"  "%dp0%\\node_modules\\@acme\\notes\\dist\\index.js" %*',
].join('\r\n')

function site(...files: string[]): ProgramSearchDeps {
  const there = new Set(files.map(file => file.toLowerCase()))
  return { platform: windows, isProgram: file => there.has(file.toLowerCase()) }
}

test('programs of one machine meet at a file, and on Windows at a pipe that no directory is put before', () => {
  assert.equal(getSocketAddress('/run/me', 'a.sock', linux), '/run/me/a.sock')
  assert.equal(getSocketAddress('/run/me', 'tapgate-me-a', windows), '\\\\.\\pipe\\tapgate-me-a')
  assert.equal(
    getSocketFolder(() => '/run/me', mac),
    '/run/me/',
  )
  assert.equal(
    getSocketFolder(() => assert.fail('nobody has that directory'), windows),
    '\\\\.\\pipe\\',
  )
  assert.equal(resolveSocketAddress('./a.sock', '/etc/gw', mac), '/etc/gw/a.sock')
  assert.equal(resolveSocketAddress('\\\\.\\pipe\\mine', 'C:\\gw', windows), '\\\\.\\pipe\\mine')
})

test('the folders of a PATH are split as its system does', () => {
  assert.deepEqual(splitPath('/bin:/usr/bin', mac), ['/bin', '/usr/bin'])
  assert.deepEqual(splitPath('C:\\bin;D:\\tools', windows), ['C:\\bin', 'D:\\tools'])
  assert.equal(splitPath(undefined, windows), undefined)
})

test('on Windows a program is found by its ending too, folder by folder', () => {
  const folders = ['C:\\one', 'D:\\two']
  const cwd = 'C:\\work'
  const on = site('C:\\one\\tool.cmd', 'D:\\two\\tool.exe', 'D:\\two\\other.exe', 'C:\\work\\own.bat')

  assert.equal(findProgram('tool', folders, cwd, on), 'C:\\one\\tool.cmd')
  assert.equal(findProgram('TOOL.EXE', folders, cwd, on)?.toLowerCase(), 'd:\\two\\tool.exe')
  assert.equal(findProgram('other', folders, cwd, on), 'D:\\two\\other.exe')
  assert.equal(findProgram('.\\own', folders, cwd, on), 'C:\\work\\own.bat')
  assert.equal(findProgram('./own', folders, cwd, on), 'C:\\work\\own.bat')
  // The working directory is no folder of the PATH, whatever cmd.exe thinks.
  assert.equal(findProgram('own', folders, cwd, on), undefined)
  assert.equal(findProgram('tool', undefined, cwd, on), undefined)
})

test('the script behind a batch file of npm is found, so that no shell is needed', () => {
  const behind = (file: string, text: string, ...files: string[]): string | undefined =>
    findNodeScript(file, { read: () => text, isFile: path => files.includes(path) })
  const npx = 'C:\\Program Files\\nodejs\\node_modules\\npm\\bin\\npx-cli.js'
  const notes = 'C:\\npm\\node_modules\\@acme\\notes\\dist\\index.js'

  assert.equal(behind('C:\\Program Files\\nodejs\\npx.cmd', NPX, npx), npx)
  assert.equal(behind('C:\\npm\\notes.cmd', SHIM, notes), notes)
  assert.equal(behind('C:\\npm\\NOTES.CMD', SHIM, notes), notes)
  // Somebody's own batch file, one whose script is gone, and what is no batch file at all.
  assert.equal(behind('C:\\npm\\notes.cmd', '@echo %1', notes), undefined)
  assert.equal(behind('C:\\npm\\notes.cmd', SHIM), undefined)
  assert.equal(behind('C:\\npm\\notes.exe', SHIM, notes), undefined)
  assert.equal(findNodeScript('/nowhere/npx.cmd'), undefined)
})
