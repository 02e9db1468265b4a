import type { ChildProcess } from 'node:child_process'

export const chromiumArgs: string[]
export function chromiumPath(): string | undefined
export function startChromium(profile: string, args?: string[]): Promise<{ child: ChildProcess; endpoint: string; kill(): Promise<void> }>
