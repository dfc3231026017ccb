#!/usr/bin/env node
// Old Nodes must be able to read this far, so nothing newer than what Node 18 parses.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `gateway needs Node.js 22.19 or newer; this is ${process.version} (${process.execPath})\n`,
  )
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
 * One of these runs for each client, so it is a small file of its own that loads nothing else. Without V8's compilers
 * it takes 10 MB less under load, and a tenth more time for a call.
 */
async function attach(args) {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  for (const flag of ['--no-opt', '--no-maglev', '--no-sparkplug', '--regexp-interpret-all'])
    setFlagsFromString(flag)
  const { attachAlone } = await import('../dist/src/cli/background/attach.js')
  return attachAlone(args, process)
}

/**
 * Kept from one start to the next, compiled code halves the time that a start takes. Each command whose start somebody
 * waits for has its own, as the first to run a file decides which parts of it are kept.
 */
function enableCache(command, { NODE_COMPILE_CACHE, NODE_DISABLE_COMPILE_CACHE, ...environment }) {
  if (NODE_COMPILE_CACHE || NODE_DISABLE_COMPILE_CACHE) return
  const { enableCompileCache } = process.getBuiltinModule('node:module')
  const use = ['serve', 'validate', 'wrap'].includes(command) ? command : 'others'
  const place = listCacheDirectories(environment).find(isPrivateDirectory)
  if (place !== undefined) enableCompileCache(`${place}/${use}`)
}

/** Such code is run as it is found, so Node's own choice, a directory for all, will not do. */
function listCacheDirectories({ XDG_CACHE_HOME, HOME, LOCALAPPDATA, TMPDIR }) {
  if (process.getuid === undefined) return LOCALAPPDATA ? [`${LOCALAPPDATA}/tapgate/compiled`] : []
  const cache = XDG_CACHE_HOME || (HOME ? `${HOME}/.cache` : undefined)
  const temporary = `${TMPDIR || '/tmp'}/tapgate-compiled-${process.getuid()}`
  return cache ? [`${cache}/tapgate/compiled`, temporary] : [temporary]
}

/** Not with `recursive`, which never returns where a parent takes nothing, as in /proc. */
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

/** Whether it is a directory, or can be made one, that nobody else can write to. */
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
