#!/usr/bin/env node
// Old Node versions must parse this file to report the error: Node 18 syntax only.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`gateway needs Node.js 22.19 or newer; this is ${process.version} (${process.execPath})\n`)
  process.exitCode = 2
} else {
  const [command, ...args] = process.argv.slice(2)
  const code = command === 'attach' ? await attach(args) : undefined
  if (code !== undefined) process.exit(code)
  enableCache(command, process.env)
  const { main } = await import('../dist/src/cli/main.js')
  await main(process.argv.slice(2))
}

/**
 * One attach process runs per client, so it loads a single small file. Without V8's optimizing compilers it uses 10
 * MB less, for 10 % more time per call.
 */
async function attach(args) {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  for (const flag of ['--no-opt', '--no-maglev', '--no-sparkplug', '--regexp-interpret-all']) setFlagsFromString(flag)
  const { attachWithoutCli } = await import('../dist/src/cli/background/attach.js')
  return attachWithoutCli(args, process)
}

/** Halves the startup time. Frequent commands have their own cache, as the first run decides which code is cached. */
function enableCache(command, { NODE_COMPILE_CACHE, NODE_DISABLE_COMPILE_CACHE, ...environment }) {
  if (NODE_COMPILE_CACHE || NODE_DISABLE_COMPILE_CACHE) return
  const { enableCompileCache } = process.getBuiltinModule('node:module')
  const use = ['serve', 'validate', 'wrap'].includes(command) ? command : 'others'
  const place = listCacheDirectories(environment).find(isPrivateDirectory)
  if (place !== undefined) enableCompileCache(`${place}/${use}`)
}

/** Cached code runs unverified, so Node's shared default directory is not safe. */
function listCacheDirectories({ XDG_CACHE_HOME, HOME, LOCALAPPDATA, TMPDIR }) {
  if (process.getuid === undefined) return LOCALAPPDATA ? [`${LOCALAPPDATA}/tapgate/compiled`] : []
  const cache = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : undefined)
  const temporary = `${TMPDIR || '/tmp'}/tapgate-compiled-${process.getuid()}`
  return cache ? [`${cache}/tapgate/compiled`, temporary] : [temporary]
}

/** Without `recursive`, which hangs in read-only parents such as /proc. */
function makeDirectory(place, mkdirSync) {
  try {
    mkdirSync(place, { mode: 0o700 })
  } catch (error) {
    const parent = place.slice(0, place.lastIndexOf('/'))
    if (error.code === 'EEXIST') return
    if (error.code !== 'ENOENT' || parent === '') throw error
    makeDirectory(parent, mkdirSync)
    mkdirSync(place, { mode: 0o700 })
  }
}

/** True if only this user can write to the directory; creates it if missing. */
function isPrivateDirectory(place) {
  const { lstatSync, mkdirSync } = process.getBuiltinModule('node:fs')
  try {
    if (lstatSync(place, { throwIfNoEntry: false }) === undefined) makeDirectory(place, mkdirSync)
    const found = lstatSync(place)
    if (process.getuid === undefined) return found.isDirectory()
    return found.isDirectory() && found.uid === process.getuid() && (found.mode & 0o022) === 0
  } catch {
    return false
  }
}
