// The one place that knows where Chromium is and what it must be told here.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** The path of a Chromium, or undefined. */
export function chromiumPath() {
  if (process.env.CHROME) return process.env.CHROME
  for (const folder of (process.env.PATH ?? '').split(':')) {
    for (const name of names) if (existsSync(`${folder}/${name}`)) return `${folder}/${name}`
  }
  return undefined
}

/** What Chromium is started with everywhere: headless, quiet, and as root without its sandbox. */
export const chromiumArgs = [
  '--headless=new', '--disable-gpu', '--no-first-run', '--no-default-browser-check', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-quic', '--disable-dev-shm-usage',
  ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
]

/** Starts a Chromium on a profile folder. It can be killed as a whole: it leads a process group. */
export async function startChromium(profile, args = []) {
  const path = chromiumPath()
  if (!path) throw new Error('no Chromium was found: install chromium, or set CHROME to its path')
  const child = spawn(path, [...chromiumArgs, ...args, `--user-data-dir=${profile}`, '--remote-debugging-port=0', 'about:blank'], { detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  const endpoint = await new Promise((resolve, reject) => {
    let text = ''
    child.stderr.on('data', (data) => {
      text += data
      const found = /DevTools listening on (ws:\S+)/.exec(text)
      if (found) resolve(found[1])
    })
    child.once('exit', (code) => reject(new Error(`Chromium ended with ${code}:\n${text}`)))
  })
  return { child, endpoint, kill: () => killGroup(child) }
}

/** Kills a process group at once, and waits until its leader is gone. */
async function killGroup(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
  await gone
}

/** Fails with what to do when there is no Chromium and no way to get one. */
if (process.argv[2] === 'ensure' && !chromiumPath()) {
  const root = process.getuid?.() === 0 ? [] : ['sudo']
  const run = (...command) => execFileSync(command[0], command.slice(1), { stdio: 'inherit' })
  run(...root, 'apt-get', 'update', '-qq')
  run(...root, 'apt-get', 'install', '-y', '-qq', 'chromium')
}
